/**
 * Counts the characters that comparisons, searches and matches examine, until it is stopped.
 * Slicing a string examines none, because the runtime shares the storage.
 */
export function countCharacters(): readonly [count: () => number, stop: () => void] {
  let characters = 0
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

  /** Replaces a method until it is restored, and adds the number that each call examined. */
  function counting(owner: object, name: string, lookedAt: (call: Call) => number): () => void {
    const method: unknown = Reflect.get(owner, name)
    if (typeof method !== "function") throw new Error(`there is no ${name}`)
    Reflect.set(owner, name, function (this: unknown, ...args: readonly unknown[]) {
      const result: unknown = Reflect.apply(method, this, args)
      characters += lookedAt({ self: this, args, result })
      return result
    })
    return () => void Reflect.set(owner, name, method)
  }

  /** A global match continues where the last one ended; sticky ones search no further. */
  function countMatches(): () => void {
    const { exec } = RegExp.prototype
    RegExp.prototype.exec = function (text) {
      const from = this.global || this.sticky ? this.lastIndex : 0
      const found = exec.call(this, text)
      const end = found ? found.index + found[0].length : this.sticky ? from + 1 : -1
      characters += between(from, end, String(text).length) + (found ? perMatch : 0)
      return found
    }
    return () => {
      RegExp.prototype.exec = exec
    }
  }

  return [() => characters, () => undo.forEach((each) => void each())]
}

type Call = { readonly self: unknown; readonly args: readonly unknown[]; readonly result: unknown }

/** Recording a match with its groups costs as much as this many characters. */
const perMatch = 50

/** The number of characters that a search from `from` to `end` examined. */
const between = (from: number, end: number, length: number) =>
  Math.max(0, (end < 0 ? length : end) - from)
