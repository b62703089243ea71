import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
} from "quickjs-emscripten-core"
import { errorText } from "../../../kernel/fault.ts"
import { guest } from "./guest.ts"
import { allowIterations, isOutOfIterations, outOfIterations } from "./loop-limit.ts"
import type { Effect, Outcome, ScriptJob } from "./messages.ts"
import { snapshotOf } from "./snapshot.ts"

/** Answers the request of a script, JSON for JSON; the script is blocked meanwhile. */
export type Host = (kind: string, json: string) => string

/** An engine whose state never carries over from one run to another. */
export type Engine = {
  readonly run: (job: ScriptJob, host: Host, isOver: () => string | undefined) => EngineResult
  /**
   * Restores the initial memory exactly; returns false if that is not possible, and then the engine
   * is discarded. Its only global is the stack pointer, which a completed call leaves unchanged;
   * after an aborted call, the engine can't be restored.
   */
  readonly renew: () => boolean
  /** The size of its memory in bytes. */
  readonly size: () => number
}
export type EngineResult = Pick<Outcome, "effects" | "failed">

export type EngineParts = {
  readonly variant: QuickJSSyncVariant
  readonly wasmModule: WebAssembly.Module
  readonly memory: WebAssembly.Memory
}

/** The initial memory with which the engine is built, in pages. */
const pagesMin = 256
const stackMax = 256 * 1024

/** The engine's own memory limit counts less than it uses, so the memory itself is limited. */
export const createMemory = (pagesMax: number): WebAssembly.Memory =>
  new WebAssembly.Memory({ initial: pagesMin, maximum: pagesMax })

export async function createEngine({ variant, wasmModule, memory }: EngineParts): Promise<Engine> {
  allowIterations(memory)
  const engine = await newQuickJSWASMModuleFromVariant(
    newVariant(variant, { wasmModule, wasmMemory: memory }),
  )
  const runtime = engine.newRuntime()
  runtime.setMaxStackSize(stackMax)
  const context = runtime.newContext()
  let host: Host = () => "null"
  const askFunction = context.newFunction("ask", (kind, json) => {
    const answer = host(context.getString(kind), context.getString(json))
    allowIterations(memory)
    return context.newString(answer)
  })
  const begin = context.unwrapResult(context.evalCode(guest, "core.js"))
  const kit = context.unwrapResult(context.callFunction(begin, context.undefined, askFunction))
  let expired: () => string | undefined = () => undefined
  runtime.setInterruptHandler(() => {
    allowIterations(memory)
    return expired() !== undefined
  })
  const restore = snapshotOf(memory)
  let isSound = true
  return {
    size: () => memory.buffer.byteLength,
    renew: () => isSound && restore(),
    run: (job, answering, isOver) => {
      host = answering
      expired = isOver
      allowIterations(memory)
      const stopReason = () => isOver() ?? (isOutOfIterations(memory) ? outOfIterations : undefined)
      const done = withLimits(stopReason, () =>
        runInEngine({ runtime, context, guest: kit }, job, isOver),
      )
      isSound = done.failed?.by !== "bounds"
      return done
    },
  }
}

/** An engine that exceeded a limit is in an undefined state. */
function withLimits(stopReason: () => string | undefined, run: () => EngineResult): EngineResult {
  try {
    return run()
  } catch (cause) {
    const text = stopReason() ?? errorText(cause)
    return { failed: { by: "bounds", words: text } }
  }
}

type EngineState = {
  readonly runtime: QuickJSRuntime
  readonly context: QuickJSContext
  /** The functions of the guest. */
  readonly guest: QuickJSHandle
}

function runInEngine(
  { runtime, context, guest: kit }: EngineState,
  job: ScriptJob,
  isOver: () => string | undefined,
): EngineResult {
  const failed = (error: QuickJSHandle): EngineResult => ({
    failed: failureOf(context, error, isOver),
  })

  const loaded = context.evalCode(job.script, `${job.name}.js`)
  if (loaded.error) return failed(loaded.error)
  const entry = getEntryFunction(context, job.name)
  if (!entry) {
    const text = `the script has no function ${job.name}, which is the name of the action`
    return { failed: { by: "script", words: text } }
  }
  const input = context.newString(JSON.stringify(job.input))
  const result = context.callFunction(context.getProp(kit, "run"), kit, entry, input)
  if (result.error) return failed(result.error)
  const pending = runtime.executePendingJobs()
  if (pending.error) return failed(pending.error)
  const promise = context.getPromiseState(result.value)
  if (promise.type === "rejected") return failed(promise.error)
  if (promise.type === "pending") {
    const text = "the script waits for a promise that never settles"
    return { failed: { by: "script", words: text } }
  }
  const finished = context.callFunction(context.getProp(kit, "finish"), kit)
  if (finished.error) return failed(finished.error)
  return { effects: parseEffects(context.getString(finished.value)) }
}

/** The name is inserted into code, so it must be an identifier. */
function getEntryFunction(context: QuickJSContext, name: string): QuickJSHandle | undefined {
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$_]*$/u.test(name)) return undefined
  const found = context.evalCode(`typeof ${name} === "function" ? ${name} : undefined`)
  if (found.error) return undefined
  return context.typeof(found.value) === "function" ? found.value : undefined
}

const messageCharactersMax = 1000

function failureOf(
  context: QuickJSContext,
  error: QuickJSHandle,
  isOver: () => string | undefined,
): NonNullable<EngineResult["failed"]> {
  // Reading the thrown value can run code of the script.
  const thrown: unknown = isOver() === undefined ? context.dump(error) : undefined
  const expired = isOver()
  if (expired !== undefined) return { by: "bounds", words: expired }
  const text = messageOf(thrown).slice(0, messageCharactersMax)
  const line = errorLineOf(thrown)
  const isBounds = /^(InternalError|RangeError): (out of memory|stack overflow|Maximum call)/
  return isBounds.test(errorNameOf(thrown) + text)
    ? { by: "bounds", words: text, ...line }
    : { by: "script", words: text || "the script threw a value without a message", ...line }
}

/** Limits for parsing a stack trace, whose size a script controls; names of scripts are shorter. */
const [stackLetters, nameLetters] = [10_000, 200]
const stackFramePattern = new RegExp(String.raw`([^\s(/]{1,${nameLetters}})\.js:(\d{1,9})`, "g")

/** The first line of the script in the stack trace; the guest's own file is "core.js". */
function errorLineOf(thrown: unknown): { readonly line?: number } {
  const stack: unknown = typeof thrown === "object" && thrown && Reflect.get(thrown, "stack")
  const places = String(stack ?? "")
    .slice(0, stackLetters)
    .matchAll(stackFramePattern)
  const [, , line] = [...places].find(([, file]) => file !== "core") ?? []
  return line === undefined ? {} : { line: Number(line) }
}

const errorNameOf = (thrown: unknown): string =>
  typeof thrown === "object" && thrown !== null ? `${Reflect.get(thrown, "name")}: ` : ""

function messageOf(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown)
  const message: unknown = Reflect.get(thrown, "message")
  return typeof message === "string" ? message : JSON.stringify(thrown)
}

const effectsMax = 1000
const charactersMax = 1_000_000

/** A script can manipulate the value. */
function parseEffects(json: string): readonly Effect[] {
  if (json.length > charactersMax) {
    throw new Error(`the effects of a run must have at most ${charactersMax} characters`)
  }
  const effects: unknown = JSON.parse(json)
  if (!Array.isArray(effects) || !effects.every(isEffect)) {
    throw new Error("the script modified the functions that return its result")
  }
  if (effects.length > effectsMax) throw new Error(`a run must have at most ${effectsMax} effects`)
  return effects
}

const isEffect = (value: unknown): value is Effect =>
  Array.isArray(value) && typeof value[0] === "string"
