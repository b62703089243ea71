import { Fault } from "../../../kernel/fault.ts"
import { type Cx, cached } from "../../../store/index.ts"
import { appliesTo } from "../../policy/index.ts"
import { isTemporary } from "../../user-lookup/index.ts"
import type { FlowType, Trigger } from "../flow-kind.ts"
import { type Action, action, flow, flowId } from "../model.ts"
import { newPool } from "../script/pool.ts"
import type { Answers } from "../script/thread.ts"
import type { Effect, Input, Outcome } from "../script/wire.ts"
import { fetchFor } from "./fetch.ts"
import { noteRun } from "./runs.ts"

/** A moment of an organisation's flow. */
export type Moment = {
  readonly orgId: string
  readonly flowType: FlowType
  readonly triggerType: Trigger
  /** Whom it is about; absent for somebody who has no account yet. */
  readonly userId?: string
}

export type Script = Pick<Action, "name" | "script" | "timeoutMs" | "allowedToFail"> & {
  readonly id: string
  /** The users who wrote it, and who has it run at the moment. */
  readonly authors: readonly string[]
}

/**
 * What runs at a moment: those that nobody has stopped, in their order. For a user who outranks
 * their authors none runs, and none for the user of a self-check.
 */
export function scriptsAt(cx: Cx, moment: Moment): readonly Script[] {
  const { userId } = moment
  if (userId !== undefined && isTemporary(cx, userId)) return []
  const all = scriptsOfAll(cx, moment)
  if (all.length === 0 || userId === undefined) return all
  return all.filter(({ authors }) => appliesTo(cx, userId, authors))
}

function scriptsOfAll(cx: Cx, { orgId, flowType, triggerType }: Moment): readonly Script[] {
  const known = scriptsKnown(cx)
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
  else if (known.size < knownMax) known.set(orgId, new Map([[key, scripts]]))
  return scripts
}

/**
 * By organisation, then by flow and trigger. Asked with every token, and nearly always nothing;
 * good until somebody changes a script.
 */
const scriptsKnown = cached(
  () => new Map<string, Map<number, readonly Script[]>>(),
  ["action", "flow"],
)
const knownMax = 2000
/** More than there are triggers of a flow. */
const flowStride = 100

/** One for the process: whose scripts run, and how many, is the pool's to see. */
const pool = newPool()

const usualTimeoutMs = 10_000
/** A script that needs more than a sign-in can wait for takes the machine from all others. */
const workMs = 1000
/** 32 MiB, half of it the engine's own. */
const pagesMax = 512

export type Play = {
  /** What `ctx` and `api` are made of, as things stand after the scripts before. */
  readonly input: () => Input
  /** What a script may ask for beside what all may. */
  readonly answers?: Answers
  /** Does what a script asks for. What it refuses fails the script, in these words. */
  readonly take: (effect: Effect, script: Pick<Script, "name">) => void
  /** Whether it goes on whatever fails: who mends scripts is never kept out by one. */
  readonly isLenient?: () => boolean
}

/**
 * Runs the scripts of a moment, one after the other. Faults with `action.refused`, in the words of
 * the script, where one fails that may not.
 */
export async function play(cx: Cx, moment: Moment, how: Play): Promise<void> {
  const { orgId } = moment
  for (const script of scriptsAt(cx, moment)) {
    const { id: actionId, name } = script
    const { outcome, tookMs } = await runScript(cx, orgId, { script, how })
    noteRun(cx, { actionId, name, orgId, tookMs, outcome })
    if (!outcome.failed || script.allowedToFail || how.isLenient?.()) continue
    throw refusedError(outcome.failed)
  }
}

type Running = { readonly script: Omit<Script, "authors">; readonly how: Omit<Play, "isLenient"> }

/** Runs one script of an organisation within the bounds that all have, and does what it asks. */
export async function runScript(cx: Cx, orgId: string, { script, how }: Running) {
  const { name, timeoutMs } = script
  const begun = cx.clock.now()
  const outcome = await pool.run({
    whose: `${cx.instance}/${orgId}`,
    job: {
      name,
      script: script.script,
      input: how.input(),
      workMs,
      pagesMax,
      timeoutMs: timeoutMs || usualTimeoutMs,
    },
    answers: { ...how.answers, fetch: fetchFor(cx) },
  })
  const ended = taken(outcome, (effect) => how.take(effect, script))
  return { outcome: ended, tookMs: cx.clock.now() - begun }
}

/** A script that asks for what it can't have has failed. */
function taken(outcome: Outcome, take: (effect: Effect) => void): Outcome {
  try {
    for (const effect of outcome.effects ?? []) take(effect)
    return brief(outcome)
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return brief({ ...outcome, failed: { by: "bounds", words: cause.message } })
  }
}

const wordsMax = 1000

/** Why a script failed is kept and shown, and may repeat what the script has said. */
function brief(outcome: Outcome): Outcome {
  const { failed } = outcome
  return failed
    ? { ...outcome, failed: { ...failed, words: failed.words.slice(0, wordsMax) } }
    : outcome
}

export const refusedId = "action.refused"

/** Only what a script itself has said is for the person; the rest is for who has written it. */
function refusedError({ by, words }: NonNullable<Outcome["failed"]>): Fault {
  const said = by === "script" ? words : "a script of the organisation has failed"
  return new Fault("failed_precondition", refusedId, onOneLine(said).slice(0, saidMax))
}

const saidMax = 200
const onOneLine = (text: string) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim()
