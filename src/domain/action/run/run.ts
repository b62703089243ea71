import { Fault } from "../../../kernel/fault.ts"
import { type Cx, cacheQuery } from "../../../store/index.ts"
import { isApplicable } from "../../policy/index.ts"
import { isTemporary } from "../../user-lookup/index.ts"
import type { FlowType, Trigger } from "../flow-kind.ts"
import { type Action, action, flow, flowId } from "../model.ts"
import type { Effect, Outcome, ScriptInput } from "../script/messages.ts"
import { createPool } from "../script/pool.ts"
import type { RequestHandlers } from "../script/thread.ts"
import { createFetch } from "./fetch.ts"
import { recordRun } from "./runs.ts"

/** A trigger of an organization's flow. */
export type FlowRun = {
  readonly orgId: string
  readonly flowType: FlowType
  readonly triggerType: Trigger
  /** The user that the run is about; absent if there is no account yet. */
  readonly userId?: string
}

export type Script = Pick<Action, "name" | "script" | "timeoutMs" | "allowedToFail"> & {
  readonly id: string
  /** The users who wrote the script, and the user who set the trigger. */
  readonly authors: readonly string[]
}

/**
 * The active scripts of a trigger in order. None if the user outranks their authors, and none for
 * the temporary user of a self-check.
 */
export function scriptsFor(cx: Cx, flowRun: FlowRun): readonly Script[] {
  const { userId } = flowRun
  if (userId !== undefined && isTemporary(cx, userId)) return []
  const all = findScripts(cx, flowRun)
  if (all.length === 0 || userId === undefined) return all
  return all.filter(({ authors }) => isApplicable(cx, userId, authors))
}

function findScripts(cx: Cx, { orgId, flowType, triggerType }: FlowRun): readonly Script[] {
  const known = scriptCache(cx)
  const key = flowType * flowStride + triggerType
  const ofOrg = known.get(orgId)
  const found = ofOrg?.get(key)
  if (found) return found
  const { actions, authors: setters } = cx.store.state(cx, flow, flowId(orgId, flowType))
  const ids = actions[triggerType] ?? []
  const scripts = ids.flatMap((id): readonly Script[] => {
    const state = cx.store.state(cx, action, id)
    if (state.status !== "active") return []
    const { name, script, timeoutMs, allowedToFail } = state
    const authors = [...state.authors, setters[triggerType] ?? ""]
    return [{ id, authors, name, script, timeoutMs, allowedToFail }]
  })
  if (ofOrg) ofOrg.set(key, scripts)
  else if (known.size < cacheSizeMax) known.set(orgId, new Map([[key, scripts]]))
  return scripts
}

/**
 * By organization, then by flow and trigger. Read for every token and nearly always empty;
 * invalidated by changes of scripts.
 */
const scriptCache = cacheQuery(
  () => new Map<string, Map<number, readonly Script[]>>(),
  ["action", "flow"],
)
const cacheSizeMax = 2000
/** More than the number of triggers of a flow. */
const flowStride = 100

/** One pool per process, which limits the runs of each organization. */
const pool = createPool()

const defaultTimeoutMs = 10_000
/** A script must not use more CPU time than a sign-in can wait for. */
const cpuMs = 1000
/** 32 MiB, half of it for the engine. */
const pagesMax = 512

export type RunPlan = {
  /** The values of `ctx` and `api`, including the effects of previous scripts. */
  readonly input: () => ScriptInput
  /** Additional data that the script can request. */
  readonly answers?: RequestHandlers
  /** Applies an effect. Throws to make the script fail with the message. */
  readonly applyEffect: (effect: Effect, script: Pick<Script, "name">) => void
  /**
   * Whether errors are ignored, because a user who can edit scripts must never be locked out by
   * one.
   */
  readonly isLenient?: () => boolean
}

/**
 * Runs the scripts of a trigger in order. Throws `action.refused`, with the message of the script,
 * if a script fails that is not allowed to.
 */
export async function runScripts(cx: Cx, flowRun: FlowRun, plan: RunPlan): Promise<void> {
  const { orgId } = flowRun
  for (const script of scriptsFor(cx, flowRun)) {
    const { id: actionId, name } = script
    const { outcome, tookMs } = await runScript(cx, orgId, { script, how: plan })
    recordRun(cx, { actionId, name, orgId, tookMs, outcome })
    if (!outcome.failed || script.allowedToFail || plan.isLenient?.()) continue
    throw rejectedError(outcome.failed)
  }
}

type RunScriptInput = {
  readonly script: Omit<Script, "authors">
  readonly how: Omit<RunPlan, "isLenient">
}

/** Runs one script of an organization within the usual limits and applies its effects. */
export async function runScript(cx: Cx, orgId: string, { script, how: plan }: RunScriptInput) {
  const { name, timeoutMs } = script
  const started = cx.clock.now()
  const outcome = await pool.run({
    owner: `${cx.instance}/${orgId}`,
    job: {
      name,
      script: script.script,
      input: plan.input(),
      workMs: cpuMs,
      pagesMax,
      timeoutMs: timeoutMs || defaultTimeoutMs,
    },
    answers: { ...plan.answers, fetch: createFetch(cx) },
  })
  const ended = applyEffects(outcome, (effect) => plan.applyEffect(effect, script))
  return { outcome: ended, tookMs: cx.clock.now() - started }
}

/** A script with a rejected effect has failed. */
function applyEffects(outcome: Outcome, take: (effect: Effect) => void): Outcome {
  try {
    for (const effect of outcome.effects ?? []) take(effect)
    return truncateError(outcome)
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return truncateError({ ...outcome, failed: { by: "bounds", words: cause.message } })
  }
}

const errorCharactersMax = 1000

/** The error of a script is stored and shown, and can contain text from the script. */
function truncateError(outcome: Outcome): Outcome {
  const { failed } = outcome
  return failed
    ? { ...outcome, failed: { ...failed, words: failed.words.slice(0, errorCharactersMax) } }
    : outcome
}

export const rejectedId = "action.refused"

/** Only messages that the script throws are shown to the user; other errors are for its authors. */
function rejectedError({ by, words }: NonNullable<Outcome["failed"]>): Fault {
  const reported = by === "script" ? words : "a script of the organization failed"
  return new Fault(
    "failed_precondition",
    rejectedId,
    toOneLine(reported).slice(0, messageCharactersMax),
  )
}

const messageCharactersMax = 200
const toOneLine = (text: string) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim()
