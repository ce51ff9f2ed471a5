"""Faults that check_reference.py plants in specs, a text for another: each has to be found. They show
that the tolerances mean something: those of Nystrom, where bounds multiply, by 1 %."""

FAULTS = {
    "differential": [("p1 - lambda", "p1 - 1.01 * lambda")],
    "differential_norm": [("mean(e, y ** 2)", "mean(e, y ** 2) * 1.01")],
    "column_sums": [("j <= i", "j < i")],
    "documents": [("di[b,i] ==", "di[b,i] + 0 * i >=")],
    "elsa_causal": [("j <= i", "j <= i + 1")],
    "entropy": [("xlogy(p, p)", "1.001 * xlogy(p, p)")],
    "evoformer": [("sigmoid(gate", "1.001 * sigmoid(gate")],
    "ffpa_causal": [("+ size(j) - size(i)", "")],
    "ipa": [("wc / 2\"", "wc / 2.02\"")],
    "ipa_frames": [("+ tj[b,j,x]", "+ 1.01 * tj[b,j,x]")],
    "linear": [("] + 1, exp", "] + 1.001, exp")],
    "linear_causal": [("j <= i", "j <= i + 1")],
    "mla": [("+ sum(r", "+ 1.01 * sum(r")],
    "nystrom": [("13, 0) -", "13.13, 0) -"), ("1/sqrt(sqrt", "1.01/sqrt(sqrt"),
                ("size(t), lk)", "lk, lk)"), ("\"repeat\": 6", "\"repeat\": 5"),
                ("/ (max(n, sum(m, a))", "/ (1.01 * max(n, sum(m, a))")],
    "nystrom_conv": [("+ sum(w", "+ 1.001 * sum(w"), ("-size(w)//2", "-size(w)//2+1")],
    "sink": [("+ exp(sink[h]", "+ 1.01 * exp(sink[h]")],
}
