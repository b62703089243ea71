import type { Mutation } from "./mutation.ts"
import { errorSignature, isExpectedError, type Outcome, shapeOf } from "./outcome.ts"

export type Input = string | Uint8Array

type Parse<Result, Context> = (input: Buffer, context: Context) => Result | Promise<Result>

/** A parser of external input, and its invariants for every input. */
type TargetDefinition<Context, Result> = {
  /** The name of its directory below `corpus`. */
  readonly name: string
  /** Opens the resources of the parser, once. */
  readonly open?: () => Promise<Context>
  readonly close?: (context: Context) => Promise<void>
  /** Inputs that are valid or almost valid. */
  readonly seeds: (context: Context) => readonly Input[] | Promise<readonly Input[]>
  /** Tokens of the format, for mutations to insert. */
  readonly tokens?: readonly string[]
  /** Target-specific mutations. */
  readonly mutations?: readonly Mutation[]
  readonly parse: Parse<Result, Context>
  /** Whether an error is a proper rejection; by default a Fault or an OAuthError. */
  readonly isRejection?: (error: unknown) => boolean
  /** Throws if a property of an accepted input is violated. */
  readonly check?: (result: Result, input: Buffer, context: Context) => void | Promise<void>
}

/** An opened target. */
export type OpenTarget = {
  readonly seeds: readonly Buffer[]
  readonly run: (input: Buffer) => Promise<Outcome>
  readonly close: () => Promise<void>
}

export type FuzzTarget = {
  readonly name: string
  readonly tokens: readonly string[]
  readonly mutations: readonly Mutation[]
  readonly open: () => Promise<OpenTarget>
}

/** A target with a replaceable parser, for tests that inject a fault. */
type ReplaceableTarget<Result, Context> = FuzzTarget & {
  readonly withParser: (
    replace: (parse: Parse<Result, Context>) => Parse<Result, Context>,
  ) => FuzzTarget
}

/** Creates a fuzz target from a parser and its properties. */
export function fuzzTarget<Result, Context = undefined>(
  definition: TargetDefinition<Context, Result>,
): ReplaceableTarget<Result, Context> {
  const { name, tokens = [], mutations = [] } = definition
  return {
    name,
    tokens,
    mutations,
    open: async () => {
      const context = (await definition.open?.()) as Context
      const seeds = await definition.seeds(context)
      return {
        seeds: seeds.map((seed) => Buffer.from(seed as Uint8Array)),
        run: (input) => outcomeOf(definition, input, context),
        close: async () => definition.close?.(context),
      }
    },
    withParser: (replace) => fuzzTarget({ ...definition, parse: replace(definition.parse) }),
  }
}

async function outcomeOf<Context, Result>(
  { parse, check, isRejection = isExpectedError }: TargetDefinition<Context, Result>,
  input: Buffer,
  context: Context,
): Promise<Outcome> {
  let result: Result
  try {
    result = await parse(input, context)
  } catch (error) {
    if (isRejection(error)) return { kind: "rejected", signature: () => errorSignature(error) }
    return faultOf("the parser threw", error)
  }
  try {
    await check?.(result, input, context)
  } catch (error) {
    return faultOf("a property does not hold", error)
  }
  return { kind: "accepted", signature: () => shapeOf(result) }
}

function faultOf(label: string, error: unknown): Outcome {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const reason = `${label}: ${text.slice(0, 2000)}`
  return { kind: "fault", reason, signature: () => errorSignature(error) }
}

/** Throws if a property is violated. */
export function requireProperty(holds: boolean, property: string): asserts holds {
  if (!holds) throw new Error(property)
}

/** Requires two values to be equal as JSON. */
export function requireEqual(actual: unknown, expected: unknown, property: string): void {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (left !== right) throw new Error(`${property}: ${left}, not ${right}`)
}
