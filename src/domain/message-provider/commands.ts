import { Fault, fieldError } from "../../kernel/fault.ts"
import { asciiEmail } from "../../protocol/email.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { hasDomain, isOnlyInstance } from "../instance/index.ts"
import { domainPolicy, policyOf } from "../policy/index.ts"
import { checkProvider } from "./check.ts"
import {
  type Channel,
  messageProviders,
  type Provider,
  type ProviderEvent,
  type ProviderSecretEvent,
  type Providers,
  providerSecret,
  type Settings,
} from "./model.ts"

const providersMax = 100

/** A provider as it is wanted; without a secret the one that it has stays, if it may. */
export type Wish = { readonly settings: Settings; readonly secret?: string | undefined }

/** Adds a provider; nothing is sent by it until it is activated. */
export async function addProvider(cx: Cx, channel: Channel, wish: Wish): Promise<Receipt> {
  const id = cx.ids.next()
  checkSettings(cx, wish.settings)
  return step(cx, channel, id, (tx, { providers }) => {
    if (Object.keys(providers).length >= providersMax) {
      throw new Fault(
        "resource_exhausted",
        "message_provider.too_many",
        `there are ${providersMax} already; remove one first`,
      )
    }
    if (wish.secret) keepSecret(tx, id, wish.settings, wish.secret)
    return [said("added", channel, id, wish.settings)]
  })
}

/**
 * Changes a provider to what is wanted, or to what follows from how it is. A secret is for whom it
 * was given to: where it would go somewhere else it is forgotten, unless it is said anew.
 */
export async function changeProvider(
  cx: Cx,
  channel: Channel,
  id: string,
  wish: Wish | { readonly kind: Settings["kind"]; readonly say: (before: Provider) => Wish },
): Promise<Receipt> {
  if (!("say" in wish)) checkSettings(cx, wish.settings)
  return step(cx, channel, id, (tx, state) => {
    const before = providerIn(state, id, "say" in wish ? wish.kind : wish.settings.kind)
    const { settings, secret } = "say" in wish ? wish.say(before) : wish
    if ("say" in wish) checkSettings(cx, settings)
    const isSame = JSON.stringify(settingsOf(before)) === JSON.stringify(settings)
    if (isSame && !secret) throw unchangedError()
    if (secret) keepSecret(tx, id, settings, secret)
    else if (destinationOf(before) !== destinationOf(settings)) forgetSecret(tx, id)
    return [said("changed", channel, id, settings)]
  })
}

/** Changes what a provider is authenticated to with, and nothing else. */
export async function changeSecret(
  cx: Cx,
  channel: Channel,
  id: string,
  { kind, secret }: { readonly kind: Settings["kind"]; readonly secret: string },
): Promise<Receipt> {
  if (secret === "") {
    throw new Fault("invalid_argument", "message_provider.secret_missing", "say the new secret")
  }
  return step(cx, channel, id, (tx, state) => {
    const settings = providerIn(state, id, kind)
    if (settings.kind === "smtp" && settings.auth.kind === "none") throw wantsNoneError()
    keepSecret(tx, id, settings, secret)
    return [said("changed", channel, id, settingsOf(settings))]
  })
}

/** Sends by this provider from now on, and by no other of its channel. */
export const activateProvider = (cx: Cx, channel: Channel, id: string): Promise<Receipt> =>
  step(cx, channel, id, (_, state) => {
    providerIn(state, id)
    if (state.active === id) throw unchangedError()
    return [turned(channel, "activated", id)]
  })

/** Sends nothing by this provider any more. */
export const deactivateProvider = (cx: Cx, channel: Channel, id: string): Promise<Receipt> =>
  step(cx, channel, id, (_, state) => {
    providerIn(state, id)
    if (state.active !== id) throw unchangedError()
    return [turned(channel, "deactivated", id)]
  })

/** Removes a provider, and forgets its secret. */
export const removeProvider = (cx: Cx, channel: Channel, id: string): Promise<Receipt> =>
  step(cx, channel, id, (tx, state) => {
    providerIn(state, id)
    forgetSecret(tx, id)
    return [turned(channel, "removed", id)]
  })

/** The providers of a channel. */
export const providersOf = (cx: Cx, channel: Channel): Providers =>
  cx.store.state(cx, messageProviders, channel)

/** One of them, by its id. */
export function findProvider(cx: Cx, channel: Channel, id: string): Provider {
  return providerIn(providersOf(cx, channel), id)
}

/** What messages of a channel go by; undefined where nothing is set up. */
export function activeProvider(cx: Cx, channel: Channel): Provider | undefined {
  const { active, providers } = providersOf(cx, channel)
  return active === undefined ? undefined : providers[active]
}

/** The secret of a provider in the plain; empty where it has none. */
export function secretOf(cx: Cx, id: string): string {
  const { sealed } = cx.store.state(cx, providerSecret, id)
  return sealed === "" ? "" : (cx.secrets.open("seal", sealed, about(id)) ?? "")
}

type Decide = (tx: Transaction, state: Providers) => readonly Draft<ProviderEvent>[]

async function step(cx: Cx, channel: Channel, id: string, decide: Decide): Promise<Receipt> {
  const made = await cx.store.transact(cx, (tx) => {
    const drafts = decide(tx, tx.state(messageProviders, channel))
    tx.append(messageProviders, channel, drafts, cx.instance)
  })
  return { ...made.receipt(messageProviders, channel), id }
}

function providerIn({ providers }: Providers, id: string, kind?: Settings["kind"]): Provider {
  const found = Object.hasOwn(providers, id) ? providers[id] : undefined
  if (found && (kind === undefined || found.kind === kind)) return found
  throw new Fault(
    "not_found",
    "message_provider.missing",
    "there is no such provider; list them to see their ids",
  )
}

/**
 * Refuses settings that nothing could be sent by, and what the server does not permit. The instance
 * may want that its mails come from a domain of its own.
 */
export function checkSettings(cx: Cx, settings: Settings): void {
  checkProvider(settings)
  if (settings.kind !== "smtp") return
  if (settings.privateNetwork && !isOnlyInstance(cx)) {
    throw fieldError(
      "message_provider.private_network",
      "private_network",
      "must be off: this service has several instances; its operator can set mail_allow",
    )
  }
  if (!policyOf(cx, "", domainPolicy).smtpSenderAddressMatchesInstanceDomain) return
  const sender = asciiEmail(settings.senderAddress)
  const domain = sender.slice(sender.lastIndexOf("@") + 1)
  if (hasDomain(cx, domain)) return
  throw fieldError(
    "message_provider.sender_foreign",
    "sender_address",
    "must be of a domain of the instance: its domain policy wants that",
  )
}

const about = (id: string): string => `message_provider/${id}`

function keepSecret(tx: Transaction, id: string, { kind }: Settings, secret: string): void {
  const kept: Draft<ProviderSecretEvent> = {
    type: secretTypes[kind],
    data: {},
    private: { sealed: tx.secrets.seal("seal", secret, about(id)) },
    erase: {},
  }
  tx.append(providerSecret, id, [kept], tx.instance)
}

const secretTypes = {
  smtp: "instance.smtp.config.password.changed",
  twilio: "instance.sms.configtwilio.token.changed",
  http: "message.provider.signing.key.changed",
} as const

function forgetSecret(tx: Transaction, id: string): void {
  if (tx.state(providerSecret, id).sealed === "") return
  tx.append(providerSecret, id, [{ type: "message.provider.secret.removed", data: {}, erase: {} }])
}

/** Where the secret of a provider goes; what a signing key signs goes nowhere with it. */
export function destinationOf(settings: Settings): string {
  if (settings.kind === "http") return ""
  if (settings.kind === "twilio") return settings.sid
  const { host, tls, user, auth, implicitTls, caCertificate, privateNetwork } = settings
  return JSON.stringify([host, tls, user, auth, implicitTls, caCertificate, privateNetwork])
}

function settingsOf({ id: _, version: __, created: ___, changed: ____, ...settings }: Provider) {
  return settings
}

function said(
  what: "added" | "changed",
  channel: Channel,
  id: string,
  settings: Settings,
): Draft<ProviderEvent> {
  if (settings.kind === "smtp") {
    return { type: `instance.smtp.config.${what}`, data: { id, ...settings } }
  }
  if (settings.kind === "twilio") {
    return { type: `instance.sms.configtwilio.${what}`, data: { id, ...settings } }
  }
  return channel === "email"
    ? { type: `instance.smtp.config.http.${what}`, data: { id, ...settings } }
    : { type: `instance.sms.confighttp.${what}`, data: { id, ...settings } }
}

const turned = (
  channel: Channel,
  what: "activated" | "deactivated" | "removed",
  id: string,
): Draft<ProviderEvent> =>
  channel === "email"
    ? { type: `instance.smtp.config.${what}`, data: { id } }
    : { type: `instance.sms.config${what}`, data: { id } }

const unchangedError = () =>
  new Fault("failed_precondition", "message_provider.unchanged", "no changes: it is so already")

const wantsNoneError = () =>
  new Fault(
    "failed_precondition",
    "message_provider.wants_no_secret",
    "the server is spoken to without a password; say its user first",
  )

/** There is nothing that messages could go by. */
export function noneActiveError(): never {
  throw new Fault(
    "not_found",
    "message_provider.none_active",
    "no provider is active; add one, and activate it",
  )
}
