// A browser starts no worker for a page that is read from the disk. The search of the site is one,
// so there it runs in a hidden frame, with the same messages. The name of this file is the one that
// the offline plugin looks for before it would add a script from the network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      const inside = frame.contentWindow
      const load = source => new Promise((done, failed) => {
        const script = inside.document.createElement("script")
        Object.assign(script, { src: source, onload: done, onerror: failed })
        inside.document.body.appendChild(script)
      })
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.importScripts = (...sources) => Promise.all(sources.map(load))
      this.deliver = data => inside.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = load(url)
    }

    postMessage(data) {
      this.ready.then(() => this.deliver(data))
    }
  }
}
