// Attention on a few rows and its gradients: the spec, inputs, and the formulas in float64.
#ifndef ATTNC_TESTS_UNIT_API_ATTENTION_H
#define ATTNC_TESTS_UNIT_API_ATTENTION_H

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace attnc::test {

inline constexpr const char *attentionSpec = R"json({
  "attnc": 1, "name": "attention", "dims": {"d": 4, "e": 4}, "params": {"scale": "f32 = 0.5"},
  "inputs": {"q": "f32[i, d]", "k": "f32[j, d]", "v": "f32[j, e]"},
  "body": ["s[i,j] = sum(d, q * k) * scale", "o[i,e] = sum(j, softmax(j, s) * v)"],
  "outputs": {"o": "f32"}, "grad": ["q", "k", "v"]
})json";

class Attention {
public:
  /// A result, and how far from it f32 may be.
  struct Bounded {
    double value = 0, bound = 0;
  };

  static constexpr int i = 3, j = 5, d = 4, e = 4;

  static int extentOf(const std::string &dim) {
    return dim == "i" ? i : dim == "j" ? j : dim == "d" ? d : e;
  }

  /// q, k, v and the gradient of o.
  std::map<std::string, std::vector<float>> tensors = {{"q", drawn(i * d, 1)},
                                                       {"k", drawn(j * d, 2)},
                                                       {"v", drawn(j * e, 3)},
                                                       {"grad_o", drawn(i * e, 4)}};

  /// What o and the gradients have to be, with P the weights and G the gradient of o: dV = P'G,
  /// dS = P (GV' - rowsum(G o)), dQ = scale dS K and dK = scale dS' Q.
  std::map<std::string, std::vector<Bounded>> expected() const {
    const std::vector<float> &q = tensors.at("q"), &k = tensors.at("k"), &v = tensors.at("v"),
                             &g = tensors.at("grad_o");
    Sums o(i * e), dq(i * d), dk(j * d), dv(j * e);
    double largest = 0; // of the scores, each product by its size
    for (int row = 0; row < i; ++row) {
      double weights[j], total = 0;
      for (int column = 0; column < j; ++column) {
        double score = 0, size = 0;
        for (int at = 0; at < d; ++at) {
          double product = 0.5 * q[row * d + at] * k[column * d + at];
          score += product;
          size += std::abs(product);
        }
        largest = std::max(largest, size);
        total += weights[column] = std::exp(score);
      }
      double slope = 0, slopeSize = 0; // rowsum(G o)
      for (int column = 0; column < j; ++column)
        for (int at = 0; at < e; ++at) {
          double weight = weights[column] / total;
          o.add(row * e + at, weight * v[column * e + at]);
          dv.add(column * e + at, weight * g[row * e + at]);
          slope += g[row * e + at] * weight * v[column * e + at];
          slopeSize += std::abs(g[row * e + at] * weight * v[column * e + at]);
        }
      for (int column = 0; column < j; ++column) {
        double change = -slope, size = slopeSize;
        for (int at = 0; at < e; ++at) {
          change += g[row * e + at] * v[column * e + at];
          size += std::abs(g[row * e + at] * v[column * e + at]);
        }
        double scaled = 0.5 * weights[column] / total;
        for (int at = 0; at < d; ++at) {
          dq.add(row * d + at, scaled * change * k[column * d + at],
                 scaled * size * k[column * d + at]);
          dk.add(column * d + at, scaled * change * q[row * d + at],
                 scaled * size * q[row * d + at]);
        }
      }
    }
    // A score is a sum of d products, scaled and shifted, of which exp makes a relative error. Each
    // result is made of sums over all dims, with two weights at most, and a few products. Twice
    // that, for terms of higher order.
    const double unit = std::ldexp(1.0, -24);
    double relative = 2 * unit * (2 * (d + 8) * largest + 2 * (i + j + d + e) + 16);
    return {{"o", o.within(relative)},
            {"grad_q", dq.within(relative)},
            {"grad_k", dk.within(relative)},
            {"grad_v", dv.within(relative)}};
  }

private:
  /// Sums, and those of the sizes of their terms.
  struct Sums {
    explicit Sums(int count) : all(count) {}
    void add(int at, double term) { add(at, term, term); }
    void add(int at, double term, double size) {
      all[at].value += term;
      all[at].bound += std::abs(size);
    }
    std::vector<Bounded> within(double relative) {
      for (Bounded &one : all)
        one.bound *= relative;
      return all;
    }
    std::vector<Bounded> all;
  };

  static std::vector<float> drawn(int count, int seed) {
    std::vector<float> values(count);
    for (int at = 0; at < count; ++at)
      values[at] = static_cast<float>(std::sin(seed + 7.0 * at));
    return values;
  }
};

} // namespace attnc::test

#endif
