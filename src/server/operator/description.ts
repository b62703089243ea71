import type { CallApi } from "../../apply/api-client.ts"
import { apply } from "../../apply/apply.ts"
import { codecOf } from "../../apply/codec.ts"
import { readDocuments } from "../../apply/document.ts"
import type { ApplyResult } from "../../apply/run.ts"
import { findSetup } from "../../apply/setup.ts"
import type { ServerCondition } from "../../boot/doctor/doctor.ts"
import type { StartInput } from "../../boot/running.ts"
import {
  addInstanceMember,
  instance,
  instanceIds,
  memberOf,
  ownerRole,
  requireInstance,
} from "../../domain/instance/index.ts"
import { isOrgActive } from "../../domain/org/index.ts"
import { firstInstance } from "../../domain/setup/index.ts"
import { addServerUser, findFreeOwnUserId } from "../../domain/user/index.ts"
import { findHomeOrg, isAbsent, user } from "../../domain/user-model/index.ts"
import { errorText, Fault } from "../../kernel/fault.ts"
import { loadOnce } from "../../kernel/lazy.ts"
import type { Cx } from "../../store/index.ts"
import { startRepeating } from "../background/repeat.ts"
import { loadEntries } from "../entries.ts"
import type { ServerServices } from "../services.ts"
import { setUpByRequest } from "../setup/setup.ts"

const retryIntervalMs = 60_000

type DescriptionOptions = {
  readonly path: string
  readonly publicUrl: string | undefined
  readonly env: StartInput["env"]
}

/**
 * Applies description files to the first instance, once per start. Errors are logged and retried
 * every minute; the server continues with the existing data.
 */
export function createDescriptionApplier(
  services: ServerServices,
  { path, publicUrl, env = {} }: DescriptionOptions,
) {
  const { log } = services
  let pendingReason: string | undefined = "not applied yet"
  let isDone = false
  let undescribedCount = 0
  const refused = (cause: unknown) => {
    const text = errorText(cause)
    if (!(cause instanceof Fault)) log.error("applying {path} broke off", { path, error: cause })
    if (text !== pendingReason) log.error("{path} could not be applied: {why}", { path, why: text })
    pendingReason = text
  }
  /** Sets up an empty data directory as described. */
  const setUp = async () => {
    if (instanceIds(services.store).length > 0) return
    const first = findSetup(readDocuments(path, env), publicUrl)
    if (!first) throw new Fault("failed_precondition", "apply.not_set_up", notSetUpText)
    await setUpByRequest(services, first).catch((cause) => {
      // Another node may have completed the setup.
      if (!(cause instanceof Fault && cause.id === "instance.exists")) throw cause
    })
    log.info("setup completed at {publicUrl}, as described in {path}", {
      publicUrl: first.publicUrl,
      path,
    })
  }
  const tryOnce = async () => {
    await setUp()
    const documents = readDocuments(path, env)
    const applied = await apply(await createCaller(services), documents, { isPlan: false })
    logResult(services, path, applied)
    if (applied.fault) throw applied.fault
    undescribedCount = applied.undescribed.length
    pendingReason = undefined
    isDone = true
  }
  return {
    /** Runs before the listeners open, so that no setup link is needed. */
    setUp: () => setUp().catch(refused),
    begin: () =>
      startRepeating(services.clock, retryIntervalMs, async () => {
        if (isDone || !services.lead.holds()) return
        await tryOnce().catch(refused)
      }),
    condition: (): Partial<ServerCondition> =>
      isDone || services.lead.holds()
        ? { described: { path, why: pendingReason ?? null, beyond: undescribedCount } }
        : {},
  }
}

export type DescriptionApplier = ReturnType<typeof createDescriptionApplier>

const notSetUpText =
  "no instance is set up yet; open the setup link, or describe setup: with organization " +
  "and owner"

/** Logs the steps without one-time secrets, which must not be in a log. */
function logResult(
  { log }: ServerServices,
  path: string,
  { steps, undescribed: undescribedCount }: ApplyResult,
): void {
  for (const { action, thing, fields } of steps) {
    const done = `${action} ${thing}${fields.length > 0 ? `: ${fields.join(", ")}` : ""}`
    log.info("applied {path}: {done}", { path, done })
  }
  for (const thing of undescribedCount)
    log.info("{thing} exists but is not described in {path}", { path, thing })
  if (steps.length === 0) log.info("everything matches {path}", { path })
}

/**
 * Calls operations as the service account for descriptions, through the normal pipeline; the
 * account has no key.
 */
async function createCaller(services: ServerServices): Promise<CallApi> {
  const cx = services.call(firstInstance, "apply")
  const userId = await getActor(cx)
  requireActive(cx, userId)
  const caller = { kind: "user", userId, orgId: findHomeOrg(cx, userId), clientId: "" } as const
  const read = loadOnce(async () => {
    const entries = await loadEntries(services, async (headers, { requestId }) => {
      requireActive(cx, userId)
      const orgId = headers.get("x-core-orgid") ?? undefined
      return { ...cx, caller, requestId, written: {}, orgId }
    })
    return new Map(entries.map((entry) => [entry.name, entry]))
  })
  return async (method, request, orgId) => {
    const name = `${method.parent.typeName}/${method.name}`
    const entry = (await read()).get(name)
    if (!entry) throw new Error(`operation ${name} not found`)
    const { result } = await entry.call(
      {
        headers: new Headers(orgId === undefined ? {} : { "x-core-orgid": orgId }),
        address: "",
        encoding: "connect",
        target: { method: "POST", path: `/${name}` },
      },
      codecOf(method, request),
    )
    if (result.ok) return result.value
    const { code, id, message } = result.fault
    throw new Fault(code, id, `${method.name}: ${message}`, { cause: result.fault })
  }
}

/**
 * The service account that acts, created on first use as an owner. An existing one gets no roles,
 * because an administrator may have removed them.
 */
async function getActor(cx: Cx): Promise<string> {
  const { value } = await cx.store.transact(cx, (tx) => {
    const orgId = requireInstance(cx).defaultOrgId
    const userId = findFreeOwnUserId(tx, orgId)
    if (!isAbsent(tx.state(user, userId))) return userId
    addServerUser(tx, userId, {
      kind: "machine",
      orgId,
      userName: userId,
      name: "Description files",
      accessTokenType: "bearer",
    })
    addInstanceMember.within(tx, tx.instance, { userId, orgId, roles: [ownerRole] })
    return userId
  })
  return value
}

/**
 * The checks that authentication with a token would make. The account must have a role on the
 * instance, because an administrator of a single organization must not control it.
 */
function requireActive(cx: Cx, userId: string): void {
  const state = cx.store.state(cx, user, userId)
  const home = findHomeOrg(cx, userId)
  if (isAbsent(state)) throw actorError(userId, "was deleted", "the next attempt creates a new one")
  if (state.kind !== "machine") {
    throw actorError(userId, "is not a service account", "delete it, and a new one is created")
  }
  if (state.status !== "active") {
    throw actorError(
      userId,
      `is ${state.status}`,
      "reactivate it, or delete it to create a new one",
    )
  }
  if (!isOrgActive(cx, home)) {
    throw actorError(
      userId,
      `belongs to the inactive organization ${home}`,
      "reactivate the organization",
    )
  }
  if (memberOf(cx.store.state(cx, instance, cx.instance), userId)) return
  throw actorError(
    userId,
    `of organization ${home} has no role on the instance`,
    "delete it to create a new one, or give it a role if it is yours",
  )
}

const actorError = (userId: string, pendingReason: string, help: string): Fault =>
  new Fault("failed_precondition", "apply.actor", `the user ${userId} ${pendingReason}: ${help}`)
