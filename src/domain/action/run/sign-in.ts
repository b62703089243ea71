import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Transaction } from "../../../store/index.ts"
import { addAuthorization } from "../../authorization/index.ts"
import { instance } from "../../instance/index.ts"
import { type Metadata, noteMetadata } from "../../user/index.ts"
import { user } from "../../user-model/index.ts"
import type { Effect } from "../script/wire.ts"
import { effectError, lastOfEach, metadataIn } from "./effect.ts"
import { answersAbout, mayMend, shownUser } from "./person.ts"
import { play, refusedId, scriptsAt } from "./run.ts"

/** What a script is shown of the request that it is a part of; the names are the interface's. */
export type Scene = { readonly authRequest?: object | undefined; readonly httpRequest: object }

/** How somebody has just proved who they are, in the words of the interface. */
export type AuthMethod = "password" | "OTP" | "U2F" | "passwordless"

/** Whether a script runs when people of an organisation sign in here. */
export const hasAfterAuthentication = (cx: Cx, userId: string): boolean =>
  scriptsAt(cx, afterAuthenticationOf(cx, userId)).length > 0

const afterAuthenticationOf = (cx: Cx, userId: string) =>
  ({ orgId: homeOf(cx, userId), userId, flowType: 3, triggerType: 1 }) as const

const homeOf = (cx: Cx, userId: string): string => cx.store.receipt(cx, user, userId)?.owner ?? ""

/**
 * Runs what is to run when somebody has proved who they are; answers what it notes about them.
 * Faults where a script keeps them out, but never who may mend it.
 */
export async function afterAuthentication(
  cx: Cx,
  userId: string,
  { method, scene }: { readonly method: AuthMethod; readonly scene: Scene },
): Promise<readonly Metadata[]> {
  const noted: Metadata[] = []
  const moment = afterAuthenticationOf(cx, userId)
  const data = { ...scene, authMethod: method, authError: "none" }
  await play(cx, moment, {
    input: () => ({ shape: "authenticated", data: { ...data, user: shownUser(cx, userId) } }),
    answers: answersAbout(cx, userId, moment.orgId),
    take: (effect) => noted.push(metadataOnly(effect)),
    isLenient: () => mayMend(cx, userId, moment.orgId),
  })
  return lastOfEach(noted)
}

/** The note that an effect is, where nothing else can be done. */
export function metadataOnly(effect: Effect): Metadata {
  if (effect[0] === "metadata") return metadataIn(effect)
  throw effectError(`${effect[0]} is nothing that can be done here`)
}

/** Roles that scripts give to somebody who is new. */
export type Granted = {
  readonly projectId: string
  readonly roleKeys: readonly string[]
  /** The grant to the organisation that they are given over, where the script names one. */
  readonly grantId?: string
}

export type Arriving = {
  /** 1: they come from a provider, 3: they made the account here. */
  readonly flowType: 1 | 3
  readonly orgId: string
  readonly scene: Scene
}

/**
 * Runs what is to run when an account is made, on the user as they are about to be: what it gives
 * them is theirs from their first moment on.
 */
export async function afterCreation(
  cx: Cx,
  shown: object,
  { flowType, orgId, scene }: Arriving,
): Promise<readonly Granted[]> {
  const granted: Granted[] = []
  await play(
    cx,
    { orgId, flowType, triggerType: 3 },
    {
      input: () => ({ shape: "after", data: { ...scene, user: shown } }),
      take: (effect) => granted.push(grantIn(cx, effect)),
    },
  )
  return granted
}

const grantWords = "a grant is { projectId, projectGrantId, roles }, the second as is needed"

/** The roles that an effect gives; a Fault where it can't. */
export function grantIn(cx: Cx, [kind, grant]: Effect): Granted {
  if (kind !== "grant" || typeof grant !== "object" || grant === null) {
    throw effectError(grantWords)
  }
  const said = new Map<string, unknown>(Object.entries(grant))
  const projectId = said.get("projectId")
  const grantId = said.get("projectGrantId") ?? ""
  const roles = said.get("roles") ?? []
  const isList = Array.isArray(roles) && roles.every((each) => typeof each === "string")
  if (typeof projectId !== "string" || typeof grantId !== "string" || !isList) {
    throw effectError(grantWords)
  }
  if (projectId === cx.store.state(cx, instance, cx.instance).projectId) {
    throw effectError("nobody is given roles on the project of the console by a script")
  }
  return { projectId, roleKeys: [...new Set(roles)], ...(grantId && { grantId }) }
}

/** Gives what scripts have given, as a part of the step that makes the account. */
export function giveGranted(
  tx: Transaction,
  { userId, orgId }: { readonly userId: string; readonly orgId: string },
  granted: readonly Granted[],
): void {
  for (const each of granted) addAuthorization(tx, tx.ids.next(), { ...each, userId, orgId })
}

/** Notes what scripts have noted about somebody of the organisation, as a part of a step. */
export function noteScripted(
  cx: Cx,
  tx: Transaction,
  { userId, orgId, noted }: { userId: string; orgId: string; noted: readonly Metadata[] },
): void {
  if (noted.length > 0 && tx.owner(user, userId) === orgId) noteMetadata(cx, tx, userId, noted)
}

/** Whether a script has kept somebody out; the message is its own words. */
export const isRefusal = (cause: unknown): cause is Fault =>
  cause instanceof Fault && cause.id === refusedId
