import type { Code } from "../../src/kernel/fault.ts"

/** Who calls: see `people` in things.ts. */
export type Who =
  | "owner"
  | "page"
  | "manager"
  | "stranger"
  | "nobody"
  | "user"
  | "system"
  | "anonymous"

/**
 * One thing that an operation does. It is data: the runner makes what the row names, calls the
 * operation in every encoding that it has, each time in a household of its own, and compares.
 *
 * A text "$name" stands for something that the runner makes first, see things.ts.
 */
export type Row = {
  /** The operation, without "core.": "project.v2.ProjectService/GetProject". */
  readonly call: string
  /** What this row shows, where it is more than that the operation works. */
  readonly name?: string
  /** The manager of the household's organisation, unless told. */
  readonly as?: Who
  /** What the owner of the instance does before. */
  readonly given?: readonly (readonly [call: string, body: object])[]
  /** It changes the whole instance, and for good: every run has an instance of its own. */
  readonly once?: true
  /** Proto3 JSON. */
  readonly body?: object
  /** "ok" unless told. */
  readonly code?: Code
  /** Of the fault. */
  readonly id?: string
  /** What the answer holds, among others. */
  readonly expect?: object
  /** The types of the events that the call writes, in their order; none unless told. */
  readonly events?: readonly string[]
}
