import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
} from "quickjs-emscripten-core"
import { reasonText } from "../../../kernel/fault.ts"
import { guest } from "./guest.ts"
import { allowIterations, isOutOfIterations, outOfIterations } from "./metered.ts"
import { snapshotOf } from "./snapshot.ts"
import type { Effect, Job, Outcome } from "./wire.ts"

/** Answers what a script asks for, JSON for JSON; it waits meanwhile. */
export type Host = (kind: string, json: string) => string

/** What one run leaves in an engine is never there for another. */
export type Engine = {
  readonly run: (job: Job, host: Host, isOver: () => string | undefined) => Ran
  /**
   * Makes it one that nothing has run in, bit by bit; false where it can't, and it is not used
   * again. The engine's one global is its stack pointer, which a call that returns leaves as it
   * was: after one that did not, the engine is not as new.
   */
  readonly renew: () => boolean
  /** Bytes that it has grown to. */
  readonly size: () => number
}
export type Ran = Pick<Outcome, "effects" | "failed">

export type Parts = {
  readonly variant: QuickJSSyncVariant
  readonly wasmModule: WebAssembly.Module
  readonly memory: WebAssembly.Memory
}

/** What the engine itself is built to begin with. */
const pagesMin = 256
const stackMax = 256 * 1024

/** The engine's own limit of memory counts less than it takes; this one is the machine's. */
export const newMemory = (pagesMax: number): WebAssembly.Memory =>
  new WebAssembly.Memory({ initial: pagesMin, maximum: pagesMax })

export async function newEngine({ variant, wasmModule, memory }: Parts): Promise<Engine> {
  allowIterations(memory)
  const engine = await newQuickJSWASMModuleFromVariant(
    newVariant(variant, { wasmModule, wasmMemory: memory }),
  )
  const runtime = engine.newRuntime()
  runtime.setMaxStackSize(stackMax)
  const context = runtime.newContext()
  let host: Host = () => "null"
  const ask = context.newFunction("ask", (kind, json) => {
    const answer = host(context.getString(kind), context.getString(json))
    allowIterations(memory)
    return context.newString(answer)
  })
  const begin = context.unwrapResult(context.evalCode(guest, "core.js"))
  const kit = context.unwrapResult(context.callFunction(begin, context.undefined, ask))
  let over: () => string | undefined = () => undefined
  runtime.setInterruptHandler(() => {
    allowIterations(memory)
    return over() !== undefined
  })
  const restore = snapshotOf(memory)
  let isSound = true
  return {
    size: () => memory.buffer.byteLength,
    renew: () => isSound && restore(),
    run: (job, answering, isOver) => {
      host = answering
      over = isOver
      allowIterations(memory)
      const whyStopped = () => isOver() ?? (isOutOfIterations(memory) ? outOfIterations : undefined)
      const done = bounded(whyStopped, () => ran({ runtime, context, kit }, job, isOver))
      isSound = done.failed?.by !== "bounds"
      return done
    },
  }
}

/** An engine that has run out of something is in no known state. */
function bounded(whyStopped: () => string | undefined, run: () => Ran): Ran {
  try {
    return run()
  } catch (cause) {
    const words = whyStopped() ?? reasonText(cause)
    return { failed: { by: "bounds", words } }
  }
}

type Machine = {
  readonly runtime: QuickJSRuntime
  readonly context: QuickJSContext
  /** What the guest offers. */
  readonly kit: QuickJSHandle
}

function ran({ runtime, context, kit }: Machine, job: Job, isOver: () => string | undefined): Ran {
  const failed = (error: QuickJSHandle): Ran => ({ failed: failureOf(context, error, isOver) })

  const loaded = context.evalCode(job.script, `${job.name}.js`)
  if (loaded.error) return failed(loaded.error)
  const entry = entryOf(context, job.name)
  if (!entry) {
    const words = `the script has no function ${job.name}, which is the name of the action`
    return { failed: { by: "script", words } }
  }
  const input = context.newString(JSON.stringify(job.input))
  const result = context.callFunction(context.getProp(kit, "run"), kit, entry, input)
  if (result.error) return failed(result.error)
  const pending = runtime.executePendingJobs()
  if (pending.error) return failed(pending.error)
  const promise = context.getPromiseState(result.value)
  if (promise.type === "rejected") return failed(promise.error)
  if (promise.type === "pending") {
    const words = "the script waits for a promise that nothing will fulfil"
    return { failed: { by: "script", words } }
  }
  const finished = context.callFunction(context.getProp(kit, "finish"), kit)
  if (finished.error) return failed(finished.error)
  return { effects: effectsIn(context.getString(finished.value)) }
}

/** A name is put into a script, so that it has to be one. */
function entryOf(context: QuickJSContext, name: string): QuickJSHandle | undefined {
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$_]*$/u.test(name)) return undefined
  const found = context.evalCode(`typeof ${name} === "function" ? ${name} : undefined`)
  if (found.error) return undefined
  return context.typeof(found.value) === "function" ? found.value : undefined
}

const wordsMax = 1000

function failureOf(
  context: QuickJSContext,
  error: QuickJSHandle,
  isOver: () => string | undefined,
): NonNullable<Ran["failed"]> {
  // What it threw is looked at with code of its own.
  const thrown: unknown = isOver() === undefined ? context.dump(error) : undefined
  const over = isOver()
  if (over !== undefined) return { by: "bounds", words: over }
  const words = wordsOf(thrown).slice(0, wordsMax)
  const line = lineIn(thrown)
  const isBounds = /^(InternalError|RangeError): (out of memory|stack overflow|Maximum call)/
  return isBounds.test(nameOf(thrown) + words)
    ? { by: "bounds", words, ...line }
    : { by: "script", words: words || "the script threw nothing that says why", ...line }
}

/** Of a stack, which a script may make as long as it likes; the name of a script is shorter. */
const [stackLetters, nameLetters] = [10_000, 200]
const placeIn = new RegExp(String.raw`([^\s(/]{1,${nameLetters}})\.js:(\d{1,9})`, "g")

/** The first line of the script that what it threw names; the guest's own file is "core.js". */
function lineIn(thrown: unknown): { readonly line?: number } {
  const stack: unknown = typeof thrown === "object" && thrown && Reflect.get(thrown, "stack")
  const places = String(stack ?? "")
    .slice(0, stackLetters)
    .matchAll(placeIn)
  const [, , line] = [...places].find(([, file]) => file !== "core") ?? []
  return line === undefined ? {} : { line: Number(line) }
}

const nameOf = (thrown: unknown): string =>
  typeof thrown === "object" && thrown !== null ? `${Reflect.get(thrown, "name")}: ` : ""

function wordsOf(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown)
  const message: unknown = Reflect.get(thrown, "message")
  return typeof message === "string" ? message : JSON.stringify(thrown)
}

const effectsMax = 1000
const charactersMax = 1_000_000

/** A script may have made anything of it. */
function effectsIn(json: string): readonly Effect[] {
  if (json.length > charactersMax) {
    throw new Error(`what a run does must have at most ${charactersMax} characters`)
  }
  const effects: unknown = JSON.parse(json)
  if (!Array.isArray(effects) || !effects.every(isEffect)) {
    throw new Error("the script has changed what its answer is made with")
  }
  if (effects.length > effectsMax) throw new Error(`a run may do at most ${effectsMax} things`)
  return effects
}

const isEffect = (value: unknown): value is Effect =>
  Array.isArray(value) && typeof value[0] === "string"
