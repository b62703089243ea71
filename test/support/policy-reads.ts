// Notes which fields of the policies are read while something happens, and by which files.
import { join, relative } from "node:path"
import type { Values } from "../../src/domain/policy/kind.ts"

const root = join(import.meta.dirname, "../..")

/** The file that reads, from the stack of the read. */
function readerIn(stack: string): string {
  const files = [...stack.matchAll(/(\/[^\s()]+?\.tsx?)(?=[:)?])/g)].map(([, path = ""]) =>
    relative(root, path),
  )
  return files.find((file) => file !== "test/support/policy-reads.ts") ?? ""
}

/** Storing, showing, copying and checking values has no effect by itself. */
const isNoReader = (file: string): boolean =>
  /^src\/domain\/policy\/|\/binding\/|^src\/domain\/(history|transfer)\/|^test\//.test(file)

/** What of a policy is watched. */
export type Watched = { readonly kind: string; readonly standard: object; readonly full: unknown }

export type Reads = {
  /** Files by "kind.field". */
  readonly seen: ReadonlyMap<string, ReadonlySet<string>>
  readonly stop: () => void
}

/** From now on until it is stopped. */
export function recordPolicyReads(policies: readonly Watched[]): Reads {
  const seen = new Map<string, Set<string>>()
  const note = (name: string) => {
    const file = readerIn(new Error("a read").stack ?? "")
    if (file === "" || isNoReader(file)) return
    seen.set(name, (seen.get(name) ?? new Set()).add(file))
  }
  const stops = policies.map((policy) => {
    const { full, standard, kind } = policy
    if (typeof full !== "function") throw new Error(`${kind} has no values`)
    const kept = new WeakMap<object, object>()
    const recorded = (values: object): object => {
      const get = (target: object, field: string | symbol): unknown => {
        if (typeof field === "string") note(`${kind}.${field}`)
        return Reflect.get(target, field)
      }
      const known = kept.get(values) ?? new Proxy(values, { get })
      kept.set(values, known)
      return known
    }
    Object.assign(policy, {
      full: (said: Values) => recorded(full(said)),
      standard: recorded(standard),
    })
    return () => void Object.assign(policy, { full, standard })
  })
  const stop = () => {
    for (const each of stops) each()
  }
  return { seen, stop }
}
