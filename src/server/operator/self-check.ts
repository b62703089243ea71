import type { Commands } from "../../boot/control.ts"
import {
  type Checker,
  endRequest,
  instanceRequest,
  type MailAnswer,
  mailRequest,
  type TemporaryUser,
} from "../../boot/doctor/deep/part.ts"
import { base32 } from "../../boot/people/format/hash.ts"
import type { Start } from "../../boot/running.ts"
import { version } from "../../boot/version.ts"
import { addApplication, app, newSecret, removeApplication } from "../../domain/app/index.ts"
import { firstPasswordIn } from "../../domain/credential/index.ts"
import { importTotp, skipFactors } from "../../domain/factor/index.ts"
import { instanceIds, requireInstance } from "../../domain/instance/index.ts"
import { tryActive } from "../../domain/message-provider/index.ts"
import { login, policyOf } from "../../domain/policy/index.ts"
import { endSession, sessionsOf } from "../../domain/session/index.ts"
import { addOwnUser, removeUser } from "../../domain/user/index.ts"
import { temporaryUsers } from "../../domain/user-lookup/index.ts"
import { hasLeft, user } from "../../domain/user-model/index.ts"
import { randomToken } from "../../kernel/crypto/random.ts"
import { Fault, reasonText } from "../../kernel/fault.ts"
import { selfCheckId } from "../../kernel/self-check.ts"
import { selfCheckToken } from "../../protocol/self-check/self-check.ts"
import {
  isTemporaryOf,
  newTemporaryId,
  temporaryEmail,
} from "../../protocol/self-check/temporary-id.ts"
import type { Cx } from "../../store/index.ts"
import { appOf } from "../app.ts"
import { keepRounds } from "../background/round.ts"
import { joinServices, type ServerServices } from "../services.ts"
import { setupTokenOf } from "../setup/setup-token.ts"

/** Nobody follows it: the code is read from the address (RFC 2606 §2). */
const redirectUri = "https://doctor.invalid/callback"
/** A self-check that is under way is younger. */
const oldMs = 600_000
const everyMs = 3_600_000
/** Each node says where it is every second. */
const liveMs = 10_000

type Checking = Pick<Checker, "instances" | "begin" | "end" | "mail">

/** What a self-check asks of the server: a user to sign in, their removal, a try of the mail. */
function checkerOf(services: ServerServices): Checking {
  const { store } = services
  const callOn = (instance: string): Cx => {
    if (!instanceIds(store).includes(instance)) {
      throw new Fault("not_found", "instance.missing", `there is no instance ${instance}`)
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
      // The command line makes one at a time on each folder.
      await removeOld(cx, Number.POSITIVE_INFINITY)
      return begin(cx)
    },
    end: async (instance, id) => {
      const cx = callOn(instance)
      if (temporaryUsers(cx).includes(id)) await remove(cx, id)
      return { left: leftOf(cx, id) }
    },
    mail: async (instance, to) => mailAnswerOf(await tryActive(callOn(instance), to)),
  }
}

const selfCheckCall = (services: Pick<ServerServices, "call" | "ids">, instance: string): Cx => ({
  ...services.call(instance, "doctor"),
  requestId: selfCheckId(services.ids.next()),
})

/** Makes the user and the application that they sign in to, in one step. */
async function begin(cx: Cx): Promise<TemporaryUser | { readonly notTried: string }> {
  const { defaultOrgId: orgId, projectId, publicUrl } = requireInstance(cx)
  const policy = policyOf(cx, orgId, login)
  if (!policy.allowUsernamePassword) {
    return { notTried: "the policy lets nobody in with a password: sign in once as a user does" }
  }
  const id = newTemporaryId(cx.random, partOf(cx))
  const isForced = policy.forceMfa || policy.forceMfaLocalOnly
  const needsCode = isForced && policy.secondFactors.includes("otp")
  const totpKey = needsCode ? cx.random.bytes(20) : undefined
  // No policy can require a longer one, or other kinds of characters. It is kept nowhere.
  const password = `aA1!${randomToken(cx.random, 60)}`
  const email = temporaryEmail(id)
  const ready = await firstPasswordIn(cx, orgId, password, { names: [id, email] })
  const clientId = cx.ids.next()
  const secret = newSecret(cx, id)
  await cx.store.transact(cx, (tx) => {
    addOwnUser(tx, id, {
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
    token: selfCheckToken(cx, cx.requestId),
  }
}

const postLogoutRedirectUris = [redirectUri]

/** Removes what a self-check made. No reactor ends the sessions of its user, so they end here. */
async function remove(cx: Cx, id: string): Promise<void> {
  await cx.store.transact(cx, (tx) => {
    if (hasLeft(tx.state(user, id))) return
    for (const sessionId of sessionsOf(cx, id)) endSession(tx, sessionId)
    removeApplication.within(tx, id)
    removeUser.within(tx, id)
  })
}

function leftOf(cx: Cx, id: string): string[] {
  const { status } = cx.store.state(cx, app, id)
  return [
    ...(hasLeft(cx.store.state(cx, user, id)) ? [] : [`the user ${id}`]),
    ...(status === "absent" || status === "removed" ? [] : [`the application ${id}`]),
    ...sessionsOf(cx, id).map((each) => `the session ${each}`),
  ]
}

/**
 * Removes what self-checks have left that were killed: those of this node that began before then,
 * ms UTC, and all others when they are old.
 */
async function removeOld(cx: Cx, before: number): Promise<void> {
  for (const id of temporaryUsers(cx)) {
    const { created = 0 } = cx.store.receipt(cx, user, id) ?? {}
    const isLeft = isTemporaryOf(id, partOf(cx)) && created < before
    if (isLeft || cx.clock.now() - created >= oldMs) await remove(cx, id)
  }
}

const partOf = ({ store }: Cx): number => store.node?.part ?? 0

/** The same on every instance, at the start and each hour: of what was there before the start. */
export function keepRemovingTemporary(services: ServerServices) {
  const { store, clock, log } = services
  const started = clock.now()
  return keepRounds(clock, everyMs, async () => {
    for (const instance of instanceIds(store)) {
      await removeOld(selfCheckCall(services, instance), started).catch((cause) =>
        log.error("what a self-check of {instance} made could not be removed: {cause}", {
          instance,
          cause: reasonText(cause),
        }),
      )
    }
  })
}

function mailAnswerOf(trial: Awaited<ReturnType<typeof tryActive>>): MailAnswer {
  if (!trial) return null
  const { kind, delivery, isSent } = trial
  const steps = delivery.steps.map((step) => ({ ...step }))
  return { kind, done: delivery.done, isSent, steps, reason: delivery.done ? "" : delivery.reason }
}

/** The same, as the command line asks a server that runs. */
export function selfCheckControl(services: ServerServices): Commands {
  const checker = checkerOf(services)
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

/** Checks without serving: opens the store, and answers the requests of the sign-in itself. */
export async function selfCheckHere<T>(
  start: Start,
  work: (checker: Checker) => Promise<T>,
): Promise<T> {
  const services = await joinServices(start)
  try {
    const setupToken = setupTokenOf(services, () => undefined)
    const { answer } = appOf({ services, setupToken, upstream: "" })
    return await work({
      ...checkerOf(services),
      send: (url, init) => {
        const request = new Request(url, init)
        request.headers.set("host", new URL(url).host)
        return answer(request, () => "127.0.0.1")
      },
      isPublic: false,
      passesHeader: async () => true,
      hasOtherVersions: async () =>
        ((await services.store.node?.nodes()) ?? []).some(
          (each) => !each.isSelf && each.seenMs < liveMs && each.version !== version,
        ),
    })
  } finally {
    await services.store.close()
  }
}
