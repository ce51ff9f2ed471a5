// What the server is asked: the command line's own answers, as JSON.

const tokenKey = "attnc-token";
const keptAnswers = 32;
const mostTries = 4;

function failure(message, remedy) {
  return { ok: false, error: { message, remedy } };
}

const pause = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, seconds * 1000);
  signal?.addEventListener("abort", () => {
    clearTimeout(timer);
    reject(signal.reason);
  });
});

export class Server {
  /** askToken(refused) gives a promise of a token; refused: one was sent and not taken. */
  constructor(askToken) {
    this.askToken = askToken;
    this.answers = new Map();
  }

  /** The version, targets and library of the server, or an answer that is not ok. */
  info() {
    return this.request("v1/explorer", {});
  }

  /**
   * The answer of `verb` (compile, explain, check, run). Compilations that went well are kept:
   * the same question has the same answer. Throws an AbortError where `signal` says so.
   */
  async ask(verb, question, signal) {
    const body = JSON.stringify(question);
    const key = `${verb} ${body}`;
    const kept = this.answers.get(key);
    if (kept)
      return kept;
    const answer = await this.request(`v1/explorer/${verb}`, {
      method: "POST", body, signal, headers: { "Content-Type": "application/json" },
    });
    if (answer.ok && (verb === "compile" || verb === "explain"))
      this.keep(key, answer);
    return answer;
  }

  keep(key, answer) {
    this.answers.set(key, answer);
    if (this.answers.size > keptAnswers)
      this.answers.delete(this.answers.keys().next().value);
  }

  async request(path, options) {
    for (let tries = 1; ; ++tries) {
      const token = sessionStorage.getItem(tokenKey);
      const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${token}` }) };
      let response;
      try {
        response = await fetch(path, { ...options, headers, cache: "no-store" });
      } catch (error) {
        if (error.name === "AbortError")
          throw error;
        return failure("the server does not answer",
          "see that it still runs; what you typed stays in this page");
      }
      if (response.status === 401)
        await this.newToken(token);
      else if (response.status === 429 && tries < mostTries)
        await pause(Number(response.headers.get("Retry-After")) || 1, options.signal);
      else
        return this.read(response);
    }
  }

  /** Asks once, however many requests were refused, and not if another token is there already. */
  async newToken(refused) {
    if (sessionStorage.getItem(tokenKey) !== refused)
      return;
    this.asking ??= this.askToken(refused !== null)
      .then((token) => sessionStorage.setItem(tokenKey, token))
      .finally(() => { this.asking = undefined; });
    await this.asking;
  }

  async read(response) {
    try {
      return await response.json();
    } catch (error) {
      if (error.name === "AbortError")
        throw error;
      return failure(`the server answered with status ${response.status} and no JSON`,
        "what is between this page and the server may have cut it off; try again");
    }
  }
}
