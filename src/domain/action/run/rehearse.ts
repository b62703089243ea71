import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { permissionsOn, stateReader } from "../../member/index.ts"
import type { Metadata, NewHuman } from "../../user/index.ts"
import { type Human, hasLeft, user } from "../../user-model/index.ts"
import { type ActionInput, checked } from "../commands.ts"
import type { FlowType, Trigger } from "../flow-kind.ts"
import { shapeAt } from "../script/offered.ts"
import type { Effect, LogLine, Shape } from "../script/wire.ts"
import { metadataIn } from "./effect.ts"
import { answersAbout, shownUser } from "./person.ts"
import { changeIn, shownExternal, shownNew, takeOfNew } from "./profile.ts"
import { type Play, runScript } from "./run.ts"
import { attributeIn } from "./saml.ts"
import { grantIn, metadataOnly } from "./sign-in.ts"
import { takeClaim } from "./token.ts"

export type Rehearsing = Omit<ActionInput, "allowedToFail"> & {
  readonly orgId: string
  readonly flowType: FlowType
  readonly triggerType: Trigger
  readonly userId: string
}

/** What a script would have done. */
export type Rehearsed = {
  readonly effects: readonly Effect[]
  readonly logs: readonly LogLine[]
  /** Empty where it did not fail. */
  readonly error: string
  /** Of the script, where it failed; 0 where that is not known. */
  readonly line: number
  readonly tookMs: number
}

/**
 * Runs a script once for somebody of the organisation, with all the bounds of a real run, and takes
 * what it does as a real run would, but leaves it at that: nothing is changed and nothing kept.
 * Faults where the script can't be kept, or the person is not the organisation's or can't be seen.
 */
export async function rehearse(cx: Cx, asked: Rehearsing): Promise<Rehearsed> {
  const { orgId, flowType, triggerType, userId } = asked
  const input = checked({ ...asked, allowedToFail: false })
  mustSee(cx, userId, orgId)
  const { done, ...how } = plays[shapeAt(flowType, triggerType)](cx, { userId, orgId })
  const { outcome, tookMs } = await runScript(cx, orgId, { script: { ...input, id: "" }, how })
  const { failed, effects = [], logs } = outcome
  return {
    effects: failed ? [] : (done?.() ?? effects),
    logs,
    tookMs,
    error: failed?.words ?? "",
    line: failed?.line ?? 0,
  }
}

function mustSee(cx: Cx, userId: string, orgId: string): void {
  const { caller } = cx
  const isOwn =
    cx.store.receipt(cx, user, userId)?.owner === orgId &&
    !hasLeft(cx.store.state(cx, user, userId))
  const level = { level: "org", id: orgId } as const
  const maySee =
    caller.kind === "user" &&
    permissionsOn({ ...stateReader(cx), caller }, level, caller.userId).has("user.read")
  if (isOwn && maySee) return
  throw new Fault("not_found", "user.missing", "the organisation has no such user")
}

type Whom = { readonly userId: string; readonly orgId: string }

/** `done`: what has become of all, where that says more than what was asked for. */
type Trial = Omit<Play, "isLenient"> & { readonly done?: () => readonly Effect[] }

const scene = {
  httpRequest: { method: "GET", url: "", host: "", remoteAddr: "", headers: {} },
} as const

const plays: Readonly<Record<Shape, (cx: Cx, whom: Whom) => Trial>> = {
  token: (cx, { userId, orgId }) => {
    const given = { sub: userId }
    const claims: Record<string, unknown> = { ...given }
    const noted: Metadata[] = []
    const user = shownUser(cx, userId)
    return {
      input: () => ({ shape: "token", data: { claims, clientId: "", user } }),
      answers: answersAbout(cx, userId, orgId),
      take: (effect, script) => takeClaim(effect, { claims, script, noted, isOfOrg: true }),
      done: () => [
        ...Object.entries(claims)
          .filter(([key]) => !Object.hasOwn(given, key))
          .map(([key, value]) => ["claim", key, value] as const),
        ...noted.map(({ key, value }) => ["metadata", key, JSON.parse(textOf(value))] as const),
      ],
    }
  },
  saml: (cx, { userId, orgId }) => ({
    input: () => ({ shape: "saml", data: { user: shownUser(cx, userId) } }),
    answers: answersAbout(cx, userId, orgId),
    take: (effect) => void (effect[0] === "metadata" ? metadataIn : attributeIn)(effect),
  }),
  external: (cx, whom) => {
    const { userName, profile, email, phone } = personOf(cx, whom.userId)
    const told = {
      ...profile,
      externalId: whom.userId,
      userName,
      email: email.address,
      emailVerified: email.verified,
      phone: phone?.number ?? "",
      phoneVerified: phone?.verified ?? false,
    }
    return {
      input: () => ({
        shape: "external",
        data: {
          ...scene,
          accessToken: "",
          idToken: "",
          claims: {},
          providerInfo: {},
          authError: "none",
          externalUser: shownExternal("", told),
        },
      }),
      take: (effect) => void (effect[0] === "metadata" ? metadataIn : changeIn)(effect),
    }
  },
  authenticated: (cx, { userId, orgId }) => ({
    input: () => ({
      shape: "authenticated",
      data: { ...scene, authMethod: "password", authError: "none", user: shownUser(cx, userId) },
    }),
    answers: answersAbout(cx, userId, orgId),
    take: (effect) => void metadataOnly(effect),
  }),
  before: (cx, { userId, orgId }) => {
    const { userName, profile, email, phone } = personOf(cx, userId)
    let now: NewHuman = {
      kind: "human",
      orgId,
      userName,
      profile,
      email: { value: email.address, verified: email.verified },
      ...(phone && { phone: { value: phone.number, verified: phone.verified } }),
    }
    return {
      input: () => ({ shape: "before", data: { ...scene, user: shownNew(userId, now) } }),
      take: (effect) => {
        if (effect[0] === "metadata") metadataIn(effect)
        else now = takeOfNew(effect, now)
      },
    }
  },
  after: (cx, { userId }) => ({
    input: () => ({ shape: "after", data: { ...scene, user: shownUser(cx, userId) } }),
    take: (effect) => void grantIn(cx, effect),
  }),
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

function personOf(cx: Cx, userId: string): Human {
  const state = cx.store.state(cx, user, userId)
  if (!hasLeft(state) && state.kind === "human") return state
  const words = "at this moment scripts run for people; choose one who is no service user"
  throw new Fault("failed_precondition", "action.trial_needs_person", words)
}
