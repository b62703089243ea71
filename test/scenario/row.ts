import type { Code } from "../../src/kernel/fault.ts"

/** The caller; see `people` in things.ts. */
export type RowCaller =
  | "owner"
  | "page"
  | "manager"
  | "stranger"
  | "nobody"
  | "user"
  | "system"
  | "anonymous"

/**
 * One effect of an operation, as data: the runner creates the named resources, calls the operation
 * in every encoding with separate resources, and compares the results.
 * "$name" represents a resource that the runner creates first; see things.ts.
 */
export type Row = {
  /** The operation, without "core.": "project.v2.ProjectService/GetProject". */
  readonly call: string
  /** What this row shows beyond success of the operation. */
  readonly name?: string
  /** Defaults to the manager of the organization. */
  readonly as?: RowCaller
  /** Calls by the instance owner before the operation. */
  readonly given?: readonly (readonly [call: string, body: object])[]
  /** Changes the whole instance permanently: every run has its own instance. */
  readonly once?: true
  /** Proto3 JSON. */
  readonly body?: object
  /** Defaults to "ok". */
  readonly code?: Code
  /** The ID of the fault. */
  readonly id?: string
  /** A part of the response. */
  readonly expect?: object
  /** The types of the events that the call writes, in order; none by default. */
  readonly events?: readonly string[]
}
