import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import { addAuthorization } from "../../authorization/index.ts"
import { instance } from "../../instance/index.ts"
import { type Metadata, noteMetadata } from "../../user/index.ts"
import { user } from "../../user-model/index.ts"
import type { Effect } from "../script/messages.ts"
import { effectError, lastByKey, parseMetadata } from "./effect.ts"
import { rejectedId, runScripts, scriptsFor } from "./run.ts"
import { canEditScripts, userAnswers, userForScript } from "./script-user.ts"

/** The request that a script runs for, with the names of the API. */
export type ScriptRequest = {
  readonly authRequest?: object | undefined
  readonly httpRequest: object
}

/** The authentication method that was just used, with the names of the API. */
export type AuthMethod = "password" | "OTP" | "U2F" | "passwordless"

/** Whether a script runs when the user signs in. */
export const hasAfterAuthentication = (cx: Cx, userId: string): boolean =>
  scriptsFor(cx, afterAuthenticationTrigger(cx, userId)).length > 0

const afterAuthenticationTrigger = (cx: Cx, userId: string) =>
  ({ orgId: orgOf(cx, userId), userId, flowType: 3, triggerType: 1 }) as const

const orgOf = (cx: Cx, userId: string): string => cx.store.receipt(cx, user, userId)?.owner ?? ""

/**
 * Runs the scripts after authentication; returns the metadata they set. Throws if a script rejects
 * the sign-in, but never for a user who can edit the scripts.
 */
export async function runAfterAuthentication(
  cx: Cx,
  userId: string,
  { method, scene: scriptRequest }: { readonly method: AuthMethod; readonly scene: ScriptRequest },
): Promise<readonly Metadata[]> {
  const metadata: Metadata[] = []
  const moment = afterAuthenticationTrigger(cx, userId)
  const data = { ...scriptRequest, authMethod: method, authError: "none" }
  await runScripts(cx, moment, {
    input: () => ({ shape: "authenticated", data: { ...data, user: userForScript(cx, userId) } }),
    answers: userAnswers(cx, userId, moment.orgId),
    applyEffect: (effect) => metadata.push(parseMetadataOnly(effect)),
    isLenient: () => canEditScripts(cx, userId, moment.orgId),
  })
  return lastByKey(metadata)
}

/** The metadata of an effect, where no other effects are allowed. */
export function parseMetadataOnly(effect: Effect): Metadata {
  if (effect[0] === "metadata") return parseMetadata(effect)
  throw effectError(`${effect[0]} is not available here`)
}

/** The roles that scripts give to a new user. */
export type RoleGrant = {
  readonly projectId: string
  readonly roleKeys: readonly string[]
  /** The project grant, if the script names one. */
  readonly grantId?: string
}

export type NewAccount = {
  /** 1: the user comes from an identity provider, 3: the user registered here. */
  readonly flowType: 1 | 3
  readonly orgId: string
  readonly scene: ScriptRequest
}

/**
 * Runs the scripts when an account is created. Roles they give are part of the new account from the
 * beginning.
 */
export async function runAfterCreation(
  cx: Cx,
  userForScripts: object,
  { flowType, orgId, scene: scriptRequest }: NewAccount,
): Promise<readonly RoleGrant[]> {
  const roleGrants: RoleGrant[] = []
  await runScripts(
    cx,
    { orgId, flowType, triggerType: 3 },
    {
      input: () => ({ shape: "after", data: { ...scriptRequest, user: userForScripts } }),
      applyEffect: (effect) => roleGrants.push(parseGrant(cx, effect)),
    },
  )
  return roleGrants
}

const grantFormatText =
  "a grant must have { projectId, projectGrantId, roles }; projectGrantId is optional"

/** The roles of an effect; throws if the effect is not allowed. */
export function parseGrant(cx: Cx, [kind, grant]: Effect): RoleGrant {
  if (kind !== "grant" || typeof grant !== "object" || grant === null) {
    throw effectError(grantFormatText)
  }
  const grantFields = new Map<string, unknown>(Object.entries(grant))
  const projectId = grantFields.get("projectId")
  const grantId = grantFields.get("projectGrantId") ?? ""
  const roles = grantFields.get("roles") ?? []
  const isList = Array.isArray(roles) && roles.every((each) => typeof each === "string")
  if (typeof projectId !== "string" || typeof grantId !== "string" || !isList) {
    throw effectError(grantFormatText)
  }
  if (projectId === cx.store.state(cx, instance, cx.instance).projectId) {
    throw effectError("scripts can't give roles on the project of the console")
  }
  return { projectId, roleKeys: [...new Set(roles)], ...(grantId && { grantId }) }
}

/** Gives the roles from scripts within the step that creates the account. */
export function addRoleGrants(
  tx: Transaction,
  { userId, orgId }: { readonly userId: string; readonly orgId: string },
  roleGrants: readonly RoleGrant[],
): void {
  for (const each of roleGrants) addAuthorization(tx, tx.ids.next(), { ...each, userId, orgId })
}

/** Stores the metadata that scripts have set for a user of the organization, within a step. */
export function storeScriptMetadata(
  cx: Cx,
  tx: Transaction,
  { userId, orgId, noted: metadata }: { userId: string; orgId: string; noted: readonly Metadata[] },
): void {
  if (metadata.length > 0 && tx.owner(user, userId) === orgId)
    noteMetadata(cx, tx, userId, metadata)
}

/** Whether a script rejected the sign-in; the message is from the script. */
export const isScriptRejection = (cause: unknown): cause is Fault =>
  cause instanceof Fault && cause.id === rejectedId
