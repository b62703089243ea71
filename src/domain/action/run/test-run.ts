import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { permissionsOn, stateReader } from "../../member/index.ts"
import type { Metadata, NewHuman } from "../../user/index.ts"
import { type Human, isAbsent, user } from "../../user-model/index.ts"
import { type ActionInput, validateInput } from "../commands.ts"
import type { FlowType, Trigger } from "../flow-kind.ts"
import { shapeFor } from "../script/members.ts"
import type { Effect, LogLine, Shape } from "../script/messages.ts"
import { parseMetadata } from "./effect.ts"
import { applyToNewUser, externalForScript, newUserForScript, parseChange } from "./profile.ts"
import { type RunPlan, runScript } from "./run.ts"
import { parseAttribute } from "./saml.ts"
import { userAnswers, userForScript } from "./script-user.ts"
import { parseGrant, parseMetadataOnly } from "./sign-in.ts"
import { applyClaimEffect } from "./token.ts"

export type TestRunInput = Omit<ActionInput, "allowedToFail"> & {
  readonly orgId: string
  readonly flowType: FlowType
  readonly triggerType: Trigger
  readonly userId: string
}

/** The result of a test run of a script. */
export type TestRunResult = {
  readonly effects: readonly Effect[]
  readonly logs: readonly LogLine[]
  /** Empty if the script did not fail. */
  readonly error: string
  /** The line of the script at which it failed; 0 if unknown. */
  readonly line: number
  readonly tookMs: number
}

/**
 * Runs a script once for a user of the organization, with the limits of a real run. Applies the
 * effects as a real run would, but stores nothing. Throws if the script is invalid, or if the user
 * does not belong to the organization or is not visible to the caller.
 */
export async function runTest(cx: Cx, testRun: TestRunInput): Promise<TestRunResult> {
  const { orgId, flowType, triggerType, userId } = testRun
  const input = validateInput({ ...testRun, allowedToFail: false })
  requireVisible(cx, userId, orgId)
  const { done, ...plan } = testPlans[shapeFor(flowType, triggerType)](cx, { userId, orgId })
  const { outcome, tookMs } = await runScript(cx, orgId, {
    script: { ...input, id: "" },
    how: plan,
  })
  const { failed, effects = [], logs } = outcome
  return {
    effects: failed ? [] : (done?.() ?? effects),
    logs,
    tookMs,
    error: failed?.words ?? "",
    line: failed?.line ?? 0,
  }
}

function requireVisible(cx: Cx, userId: string, orgId: string): void {
  const { caller } = cx
  const isOwn =
    cx.store.receipt(cx, user, userId)?.owner === orgId &&
    !isAbsent(cx.store.state(cx, user, userId))
  const level = { level: "org", id: orgId } as const
  const maySee =
    caller.kind === "user" &&
    permissionsOn({ ...stateReader(cx), caller }, level, caller.userId).has("user.read")
  if (isOwn && maySee) return
  throw new Fault("not_found", "user.missing", "user not found in the organization")
}

type UserRef = { readonly userId: string; readonly orgId: string }

/** `done` returns the final effects if they differ from the requested ones. */
type TestPlan = Omit<RunPlan, "isLenient"> & { readonly done?: () => readonly Effect[] }

const scene = {
  httpRequest: { method: "GET", url: "", host: "", remoteAddr: "", headers: {} },
} as const

const testPlans: Readonly<Record<Shape, (cx: Cx, user: UserRef) => TestPlan>> = {
  token: (cx, { userId, orgId }) => {
    const baseClaims = { sub: userId }
    const claims: Record<string, unknown> = { ...baseClaims }
    const addedMetadata: Metadata[] = []
    const user = userForScript(cx, userId)
    return {
      input: () => ({ shape: "token", data: { claims, clientId: "", user } }),
      answers: userAnswers(cx, userId, orgId),
      applyEffect: (effect, script) =>
        applyClaimEffect(effect, { claims, script, noted: addedMetadata, isOfOrg: true }),
      done: () => [
        ...Object.entries(claims)
          .filter(([key]) => !Object.hasOwn(baseClaims, key))
          .map(([key, value]) => ["claim", key, value] as const),
        ...addedMetadata.map(
          ({ key, value }) => ["metadata", key, JSON.parse(decodeText(value))] as const,
        ),
      ],
    }
  },
  saml: (cx, { userId, orgId }) => ({
    input: () => ({ shape: "saml", data: { user: userForScript(cx, userId) } }),
    answers: userAnswers(cx, userId, orgId),
    applyEffect: (effect) =>
      void (effect[0] === "metadata" ? parseMetadata : parseAttribute)(effect),
  }),
  external: (cx, user) => {
    const { userName, profile, email, phone } = requireHuman(cx, user.userId)
    const externalIdentity = {
      ...profile,
      externalId: user.userId,
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
          externalUser: externalForScript("", externalIdentity),
        },
      }),
      applyEffect: (effect) =>
        void (effect[0] === "metadata" ? parseMetadata : parseChange)(effect),
    }
  },
  authenticated: (cx, { userId, orgId }) => ({
    input: () => ({
      shape: "authenticated",
      data: {
        ...scene,
        authMethod: "password",
        authError: "none",
        user: userForScript(cx, userId),
      },
    }),
    answers: userAnswers(cx, userId, orgId),
    applyEffect: (effect) => void parseMetadataOnly(effect),
  }),
  before: (cx, { userId, orgId }) => {
    const { userName, profile, email, phone } = requireHuman(cx, userId)
    let now: NewHuman = {
      kind: "human",
      orgId,
      userName,
      profile,
      email: { value: email.address, verified: email.verified },
      ...(phone && { phone: { value: phone.number, verified: phone.verified } }),
    }
    return {
      input: () => ({ shape: "before", data: { ...scene, user: newUserForScript(userId, now) } }),
      applyEffect: (effect) => {
        if (effect[0] === "metadata") parseMetadata(effect)
        else now = applyToNewUser(effect, now)
      },
    }
  },
  after: (cx, { userId }) => ({
    input: () => ({ shape: "after", data: { ...scene, user: userForScript(cx, userId) } }),
    applyEffect: (effect) => void parseGrant(cx, effect),
  }),
}

const decodeText = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

function requireHuman(cx: Cx, userId: string): Human {
  const state = cx.store.state(cx, user, userId)
  if (!isAbsent(state) && state.kind === "human") return state
  const message =
    "scripts at this trigger run for human users; choose a user who is not a service account"
  throw new Fault("failed_precondition", "action.trial_needs_person", message)
}
