// Records which policy fields are read during an action, and by which files.
import { join, relative } from "node:path"
import type { PolicyValues } from "../../src/domain/policy/kind.ts"

const root = join(import.meta.dirname, "../..")

/** The reading file, from the stack trace. */
function findReader(stack: string): string {
  const files = [...stack.matchAll(/(\/[^\s()]+?\.tsx?)(?=[:)?])/g)].map(([, path = ""]) =>
    relative(root, path),
  )
  return files.find((file) => file !== "test/support/policy-reads.ts") ?? ""
}

/** Storing, showing, copying and validating values has no effect of its own. */
const isIgnored = (file: string): boolean =>
  /^src\/domain\/policy\/|\/binding\/|^src\/domain\/(history|transfer)\/|^test\//.test(file)

/** The observed policy. */
export type ObservedPolicy = {
  readonly kind: string
  readonly standard: object
  readonly full: unknown
}

export type PolicyReads = {
  /** Files by "kind.field". */
  readonly seen: ReadonlyMap<string, ReadonlySet<string>>
  readonly stop: () => void
}

/** Records until it is stopped. */
export function recordPolicyReads(policies: readonly ObservedPolicy[]): PolicyReads {
  const seen = new Map<string, Set<string>>()
  const note = (name: string) => {
    const file = findReader(new Error("a read").stack ?? "")
    if (file === "" || isIgnored(file)) return
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
      full: (value: PolicyValues) => recorded(full(value)),
      standard: recorded(standard),
    })
    return () => void Object.assign(policy, { full, standard })
  })
  const stop = () => {
    for (const each of stops) each()
  }
  return { seen, stop }
}
