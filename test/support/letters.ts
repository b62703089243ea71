/**
 * Counts the letters that are looked at, by whoever compares, searches or matches texts, until it
 * is stopped. To cut a text looks at none: the runtime shares what it cuts.
 */
export function countLetters(): readonly [count: () => number, stop: () => void] {
  let letters = 0
  const undo = [
    counting(String.prototype, "charAt", () => 1),
    counting(String.prototype, "charCodeAt", () => 1),
    counting(String.prototype, "indexOf", ({ self, args: [, from], result }) =>
      between(Number(from ?? 0), Number(result), String(self).length),
    ),
    counting(String.prototype, "replace", ({ self }) => String(self).length),
    counting(RegExp.prototype, "test", ({ args: [text] }) => String(text).length),
    countMatches(),
  ]

  /** Replaces a method until it is undone, and adds what each call of it has looked at. */
  function counting(owner: object, name: string, lookedAt: (call: Call) => number): () => void {
    const method: unknown = Reflect.get(owner, name)
    if (typeof method !== "function") throw new Error(`there is no ${name}`)
    Reflect.set(owner, name, function (this: unknown, ...args: readonly unknown[]) {
      const result: unknown = Reflect.apply(method, this, args)
      letters += lookedAt({ self: this, args, result })
      return result
    })
    return () => void Reflect.set(owner, name, method)
  }

  /** What is matched many times goes on where the last match ended; sticky ones look no further. */
  function countMatches(): () => void {
    const { exec } = RegExp.prototype
    RegExp.prototype.exec = function (text) {
      const from = this.global || this.sticky ? this.lastIndex : 0
      const found = exec.call(this, text)
      const end = found ? found.index + found[0].length : this.sticky ? from + 1 : -1
      letters += between(from, end, String(text).length) + (found ? perMatch : 0)
      return found
    }
    return () => {
      RegExp.prototype.exec = exec
    }
  }

  return [() => letters, () => undo.forEach((each) => void each())]
}

type Call = { readonly self: unknown; readonly args: readonly unknown[]; readonly result: unknown }

/** What matches is written down with all its groups, which takes as long as so many letters. */
const perMatch = 50

/** How far a search went that began and ended there, or nowhere. */
const between = (from: number, end: number, length: number) =>
  Math.max(0, (end < 0 ? length : end) - from)
