import type { Commands } from "../../boot/control.ts"
import {
  type Checker,
  endRequest,
  instanceRequest,
  type MailAnswer,
  mailRequest,
  type TemporaryUser,
} from "../../boot/doctor/deep/messages.ts"
import type { StartInput } from "../../boot/running.ts"
import { base32 } from "../../boot/users/format/hash.ts"
import { version } from "../../boot/version.ts"
import { addApplication, app, newSecret, removeApplication } from "../../domain/app/index.ts"
import { firstPasswordIn } from "../../domain/credential/index.ts"
import { importTotp, skipFactors } from "../../domain/factor/index.ts"
import { instanceIds, requireInstance } from "../../domain/instance/index.ts"
import { testActiveProvider } from "../../domain/message-provider/index.ts"
import { login, policyOf } from "../../domain/policy/index.ts"
import { endSession, sessionIdsOf } from "../../domain/session/index.ts"
import { addServerUser, removeUser } from "../../domain/user/index.ts"
import { listTemporaryUsers } from "../../domain/user-lookup/index.ts"
import { isAbsent, user } from "../../domain/user-model/index.ts"
import { randomToken } from "../../kernel/crypto/random.ts"
import { errorText, Fault } from "../../kernel/fault.ts"
import { selfCheckId } from "../../kernel/self-check.ts"
import { createSelfCheckToken } from "../../protocol/self-check/self-check.ts"
import {
  createTemporaryId,
  isTemporaryIdOfNode,
  temporaryEmail,
} from "../../protocol/self-check/temporary-id.ts"
import type { Cx } from "../../store/index.ts"
import { createApp } from "../app.ts"
import { startRepeating } from "../background/repeat.ts"
import { joinServices, type ServerServices } from "../services.ts"
import { createSetupToken } from "../setup/setup-token.ts"

/** Never requested: the code is read from the URL (RFC 2606 §2). */
const redirectUri = "https://doctor.invalid/callback"
/** A running self-check is younger than this. */
const staleMs = 600_000
const everyMs = 3_600_000
/** Each node reports every second. */
const activeMs = 10_000

type SelfCheckOperations = Pick<Checker, "instances" | "begin" | "end" | "mail">

/**
 * The operations of a self-check: creating a user to sign in, deleting it, and testing the mail
 * server.
 */
function createChecker(services: ServerServices): SelfCheckOperations {
  const { store } = services
  const callOn = (instance: string): Cx => {
    if (!instanceIds(store).includes(instance)) {
      throw new Fault("not_found", "instance.missing", `instance ${instance} not found`)
    }
    return selfCheckCall(services, instance)
  }
  return {
    instances: async () =>
      instanceIds(store).map((id) => {
        const { publicUrl } = requireInstance({ store, instance: id })
        return { id, publicUrl }
      }),
    begin: async (instance) => {
      const cx = callOn(instance)
      // The command line runs only one self-check at a time per directory.
      await removeOldTemporary(cx, Number.POSITIVE_INFINITY)
      return createTemporary(cx)
    },
    end: async (instance, id) => {
      const cx = callOn(instance)
      if (listTemporaryUsers(cx).includes(id)) await removeTemporary(cx, id)
      return { left: findLeftovers(cx, id) }
    },
    mail: async (instance, to) => toMailResult(await testActiveProvider(callOn(instance), to)),
  }
}

const selfCheckCall = (services: Pick<ServerServices, "call" | "ids">, instance: string): Cx => ({
  ...services.call(instance, "doctor"),
  requestId: selfCheckId(services.ids.next()),
})

/** Creates the user and the application in one step. */
async function createTemporary(cx: Cx): Promise<TemporaryUser | { readonly notTried: string }> {
  const { defaultOrgId: orgId, projectId, publicUrl } = requireInstance(cx)
  const policy = policyOf(cx, orgId, login)
  if (!policy.allowUsernamePassword) {
    return { notTried: "the policy does not allow sign-in with a password: sign in once as a user" }
  }
  const id = createTemporaryId(cx.random, nodeNumberOf(cx))
  const isForced = policy.forceMfa || policy.forceMfaLocalOnly
  const needsCode = isForced && policy.secondFactors.includes("otp")
  const totpKey = needsCode ? cx.random.bytes(20) : undefined
  // Satisfies every password policy. The password is not stored in plain text.
  const password = `aA1!${randomToken(cx.random, 60)}`
  const email = temporaryEmail(id)
  const ready = await firstPasswordIn(cx, orgId, password, { names: [id, email] })
  const clientId = cx.ids.next()
  const secret = newSecret(cx, id)
  await cx.store.transact(cx, (tx) => {
    addServerUser(tx, id, {
      kind: "human",
      orgId,
      userName: id,
      password: ready,
      profile: { givenName: "Latchkey", familyName: "Doctor" },
      email: { value: email, verified: false },
    })
    if (totpKey === undefined) skipFactors.within(tx, id)
    else importTotp(tx, id, base32(totpKey))
    addApplication(tx, id, {
      projectId,
      name: id,
      clientId,
      secret,
      config: { kind: "oidc", oidc: { redirectUris: [redirectUri], postLogoutRedirectUris } },
    })
  })
  return {
    instance: cx.instance,
    id,
    publicUrl,
    password,
    clientId,
    redirectUri,
    ...(totpKey !== undefined && { totpKey: Buffer.from(totpKey).toString("base64url") }),
    clientSecret: secret.plain,
    token: createSelfCheckToken(cx, cx.requestId),
  }
}

const postLogoutRedirectUris = [redirectUri]

/**
 * Deletes what a self-check created. No reactor ends the sessions of its user, so they are ended
 * here.
 */
async function removeTemporary(cx: Cx, id: string): Promise<void> {
  await cx.store.transact(cx, (tx) => {
    if (isAbsent(tx.state(user, id))) return
    for (const sessionId of sessionIdsOf(cx, id)) endSession(tx, sessionId)
    removeApplication.within(tx, id)
    removeUser.within(tx, id)
  })
}

function findLeftovers(cx: Cx, id: string): string[] {
  const { status } = cx.store.state(cx, app, id)
  return [
    ...(isAbsent(cx.store.state(cx, user, id)) ? [] : [`the user ${id}`]),
    ...(status === "absent" || status === "removed" ? [] : [`the application ${id}`]),
    ...sessionIdsOf(cx, id).map((each) => `the session ${each}`),
  ]
}

/**
 * Deletes what killed self-checks left: those of this node from before the given time, in ms since
 * the epoch, and old ones of other nodes.
 */
async function removeOldTemporary(cx: Cx, before: number): Promise<void> {
  for (const id of listTemporaryUsers(cx)) {
    const { created = 0 } = cx.store.receipt(cx, user, id) ?? {}
    const isLeft = isTemporaryIdOfNode(id, nodeNumberOf(cx)) && created < before
    if (isLeft || cx.clock.now() - created >= staleMs) await removeTemporary(cx, id)
  }
}

const nodeNumberOf = ({ store }: Cx): number => store.node?.part ?? 0

/** The same on every instance, at the start and every hour. */
export function startRemovingTemporary(services: ServerServices) {
  const { store, clock, log } = services
  const started = clock.now()
  return startRepeating(clock, everyMs, async () => {
    for (const instance of instanceIds(store)) {
      await removeOldTemporary(selfCheckCall(services, instance), started).catch((cause) =>
        log.error("temporary data of a self-check in {instance} could not be deleted: {cause}", {
          instance,
          cause: errorText(cause),
        }),
      )
    }
  })
}

function toMailResult(trial: Awaited<ReturnType<typeof testActiveProvider>>): MailAnswer {
  if (!trial) return null
  const { kind, delivery, isSent } = trial
  const steps = delivery.steps.map((step) => ({ ...step }))
  return { kind, done: delivery.done, isSent, steps, reason: delivery.done ? "" : delivery.reason }
}

/** The same as commands of a running server. */
export function createSelfCheckControl(services: ServerServices): Commands {
  const checker = createChecker(services)
  return {
    "self-check-instances": () => checker.instances(),
    "self-check-begin": (input) => checker.begin(instanceRequest.parse(input).instance),
    "self-check-end": (input) => {
      const { instance, id } = endRequest.parse(input)
      return checker.end(instance, id)
    },
    "self-check-mail": (input) => {
      const { instance, to } = mailRequest.parse(input)
      return checker.mail(instance, to)
    },
  }
}

/**
 * Runs the checks without a server: opens the store and handles the requests of the sign-in in this
 * process.
 */
export async function runLocalSelfCheck<T>(
  start: StartInput,
  work: (checker: Checker) => Promise<T>,
): Promise<T> {
  const services = await joinServices(start)
  try {
    const setupToken = createSetupToken(services, () => undefined)
    const { answer } = createApp({ services, setupToken, upstream: "" })
    return await work({
      ...createChecker(services),
      send: (url, init) => {
        const request = new Request(url, init)
        request.headers.set("host", new URL(url).host)
        return answer(request, () => "127.0.0.1")
      },
      isPublic: false,
      passesHeader: async () => true,
      hasOtherVersions: async () =>
        ((await services.store.node?.nodes()) ?? []).some(
          (each) => !each.isSelf && each.seenMs < activeMs && each.version !== version,
        ),
    })
  } finally {
    await services.store.close()
  }
}
