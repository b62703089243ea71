import type { CallApi } from "../../apply/api-client.ts"
import { apply } from "../../apply/apply.ts"
import { codecOf } from "../../apply/codec.ts"
import { readDocuments } from "../../apply/document.ts"
import { firstIn } from "../../apply/first.ts"
import type { Applied } from "../../apply/run.ts"
import type { Condition } from "../../boot/doctor/doctor.ts"
import type { Start } from "../../boot/running.ts"
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
import { addOwnUser, ownUserId } from "../../domain/user/index.ts"
import { hasLeft, homeOf, user } from "../../domain/user-model/index.ts"
import { Fault, reasonText } from "../../kernel/fault.ts"
import { lazily } from "../../kernel/lazy.ts"
import type { Cx } from "../../store/index.ts"
import { keepRounds } from "../background/round.ts"
import { entriesFor } from "../entries.ts"
import type { ServerServices } from "../services.ts"
import { setUpByRequest } from "../setup/setup.ts"

const everyMs = 60_000

type Given = {
  readonly path: string
  readonly publicUrl: string | undefined
  readonly env: Start["env"]
}

/**
 * Makes the first instance what files describe, once with each start. What is wrong with them, or
 * is refused, is told, and tried again each minute: the server goes on with what it has.
 */
export function describingOf(services: ServerServices, { path, publicUrl, env = {} }: Given) {
  const { log } = services
  let why: string | undefined = "it has not come to it yet"
  let isDone = false
  let beyond = 0
  const refused = (cause: unknown) => {
    const said = reasonText(cause)
    if (!(cause instanceof Fault)) log.error("applying {path} broke off", { path, error: cause })
    if (said !== why) log.error("{path} is not applied: {why}", { path, why: said })
    why = said
  }
  /** Sets an empty folder up, for whom the files say. */
  const setUp = async () => {
    if (instanceIds(services.store).length > 0) return
    const first = firstIn(readDocuments(path, env), publicUrl)
    if (!first) throw new Fault("failed_precondition", "apply.not_set_up", notSetUp)
    await setUpByRequest(services, first).catch((cause) => {
      // Of several nodes another one may have come first.
      if (!(cause instanceof Fault && cause.id === "instance.exists")) throw cause
    })
    log.info("set up at {publicUrl}, as {path} says", { publicUrl: first.publicUrl, path })
  }
  const tryOnce = async () => {
    await setUp()
    const documents = readDocuments(path, env)
    const applied = await apply(await callerOf(services), documents, { isPlan: false })
    tell(services, path, applied)
    if (applied.refused) throw applied.refused
    beyond = applied.beyond.length
    why = undefined
    isDone = true
  }
  return {
    /** Before anybody else can: nobody needs a link then. */
    setUp: () => setUp().catch(refused),
    begin: () =>
      keepRounds(services.clock, everyMs, async () => {
        if (isDone || !services.lead.holds()) return
        await tryOnce().catch(refused)
      }),
    condition: (): Partial<Condition> =>
      isDone || services.lead.holds() ? { described: { path, why: why ?? null, beyond } } : {},
  }
}

export type Describing = ReturnType<typeof describingOf>

const notSetUp =
  "nothing is set up yet; open the set-up link, or describe setup: with the organisation and owner"

/** What was done, and no secret of it: what is told once is nobody's to read in a log. */
function tell({ log }: ServerServices, path: string, { steps, beyond }: Applied): void {
  for (const { action, thing, fields } of steps) {
    const done = `${action} ${thing}${fields.length > 0 ? `: ${fields.join(", ")}` : ""}`
    log.info("applied {path}: {done}", { path, done })
  }
  for (const thing of beyond)
    log.info("{thing} is there, and {path} does not say it", { path, thing })
  if (steps.length === 0) log.info("everything is as {path} describes", { path })
}

/** Calls operations as the service user of the files, by the one pipeline; nobody has its key. */
async function callerOf(services: ServerServices): Promise<CallApi> {
  const cx = services.call(firstInstance, "apply")
  const userId = await actorOf(cx)
  mustAct(cx, userId)
  const caller = { kind: "user", userId, orgId: homeOf(cx, userId), clientId: "" } as const
  const read = lazily(async () => {
    const entries = await entriesFor(services, async (headers, { requestId }) => {
      mustAct(cx, userId)
      const orgId = headers.get("x-core-orgid") ?? undefined
      return { ...cx, caller, requestId, written: {}, orgId }
    })
    return new Map(entries.map((entry) => [entry.name, entry]))
  })
  return async (method, request, orgId) => {
    const name = `${method.parent.typeName}/${method.name}`
    const entry = (await read()).get(name)
    if (!entry) throw new Error(`there is no operation ${name}`)
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
 * The service user that acts, made with the first use and an owner from then on. One that is there
 * already gets nothing: whoever made it, or took its rights, had a reason.
 */
async function actorOf(cx: Cx): Promise<string> {
  const { value } = await cx.store.transact(cx, (tx) => {
    const orgId = requireInstance(cx).defaultOrgId
    const userId = ownUserId(tx, orgId)
    if (!hasLeft(tx.state(user, userId))) return userId
    addOwnUser(tx, userId, {
      kind: "machine",
      orgId,
      userName: userId,
      name: "What files describe",
      accessTokenType: "bearer",
    })
    addInstanceMember.within(tx, tx.instance, { userId, orgId, roles: [ownerRole] })
    return userId
  })
  return value
}

/**
 * No token shows who acts, so what a token's use asks is asked here. A role on the instance is what
 * nobody of a single organisation can give: files and their secrets are for no user of theirs.
 */
function mustAct(cx: Cx, userId: string): void {
  const state = cx.store.state(cx, user, userId)
  const home = homeOf(cx, userId)
  if (hasLeft(state)) throw actorError(userId, "is removed", "the next try makes another one")
  if (state.kind !== "machine") {
    throw actorError(userId, "is no service user", "remove it, and one is made")
  }
  if (state.status !== "active") {
    throw actorError(userId, `is ${state.status}`, "set it free again, or remove it for a new one")
  }
  if (!isOrgActive(cx, home)) {
    throw actorError(userId, `is of the inactive organisation ${home}`, "activate that again")
  }
  if (memberOf(cx.store.state(cx, instance, cx.instance), userId)) return
  throw actorError(
    userId,
    `of the organisation ${home} has no role on the instance`,
    "remove it for a new one, or give it one, if it is yours",
  )
}

const actorError = (userId: string, why: string, help: string): Fault =>
  new Fault("failed_precondition", "apply.actor", `the user ${userId} ${why}: ${help}`)
