import { aggregate, type Event, partByKey } from "../../store/index.ts"

/** What messages go out by; each has its providers, of which one is active. */
export const channels = ["email", "sms"] as const
export type Channel = (typeof channels)[number]

/** How an SMTP server learns who sends: not at all, by a password, or by an OAuth access token. */
export type SmtpAuth =
  | { readonly kind: "none" }
  | { readonly kind: "plain" }
  | {
      readonly kind: "xoauth2"
      readonly tokenEndpoint: string
      readonly scopes: readonly string[]
      readonly clientId: string
    }

export type Smtp = {
  readonly kind: "smtp"
  readonly description: string
  /** With the port behind it where that is not 587. */
  readonly host: string
  readonly tls: boolean
  /** TLS from the first byte, whatever the port; absent for no. */
  readonly implicitTls?: boolean
  /** PEM; absent where the authorities of the system are trusted. */
  readonly caCertificate?: string
  /** Whether the server may be in a private network; absent for no. */
  readonly privateNetwork?: boolean
  readonly user: string
  readonly senderAddress: string
  readonly senderName: string
  readonly replyToAddress: string
  readonly auth: SmtpAuth
}

export type Http = {
  readonly kind: "http"
  readonly description: string
  readonly endpoint: string
}

export type Twilio = {
  readonly kind: "twilio"
  readonly description: string
  readonly sid: string
  readonly senderNumber: string
  /** Twilio sends a text of its own with our code where this is set. */
  readonly verifyServiceSid: string
}

/** What is said of a provider, but for its secret. */
export type Settings = Smtp | Http | Twilio

export type Provider = Settings & {
  readonly id: string
  /** Of the channel's stream when it was said last. */
  readonly version: number
  /** ms UTC, as is `changed`. */
  readonly created: number
  readonly changed: number
}

type Named = { readonly id: string }

export type ProviderEvent =
  | Event<"instance.smtp.config.added", Named & Smtp>
  | Event<"instance.smtp.config.changed", Named & Smtp>
  | Event<"instance.smtp.config.http.added", Named & Http>
  | Event<"instance.smtp.config.http.changed", Named & Http>
  | Event<"instance.smtp.config.activated", Named>
  | Event<"instance.smtp.config.deactivated", Named>
  | Event<"instance.smtp.config.removed", Named>
  | Event<"instance.sms.configtwilio.added", Named & Twilio>
  | Event<"instance.sms.configtwilio.changed", Named & Twilio>
  | Event<"instance.sms.confighttp.added", Named & Http>
  | Event<"instance.sms.confighttp.changed", Named & Http>
  | Event<"instance.sms.configactivated", Named>
  | Event<"instance.sms.configdeactivated", Named>
  | Event<"instance.sms.configremoved", Named>

/** The providers of one channel, by id; messages go by the active one. */
export type Providers = {
  readonly active?: string | undefined
  readonly providers: Readonly<Record<string, Provider>>
}

type Said<Named> = { readonly data: Named; readonly time: number; readonly version: number }

function said(state: Providers, { data, time, version }: Said<Named & Settings>): Providers {
  const created = state.providers[data.id]?.created ?? time
  const provider: Provider = { ...data, version, created, changed: time }
  return { ...state, providers: { ...state.providers, [data.id]: provider } }
}

const activated = (state: Providers, { data }: Said<Named>): Providers => ({
  ...state,
  active: data.id,
})

const deactivated = (state: Providers): Providers => ({ ...state, active: undefined })

function removed({ active, providers }: Providers, { data }: Said<Named>): Providers {
  const { [data.id]: _, ...others } = providers
  return { active: active === data.id ? undefined : active, providers: others }
}

/** The id is the channel. */
export const messageProviders = aggregate<ProviderEvent, Providers>({
  stream: "message_providers",
  part: partByKey("id"),
  initial: { providers: {} },
  evolve: {
    "instance.smtp.config.added": said,
    "instance.smtp.config.changed": said,
    "instance.smtp.config.http.added": said,
    "instance.smtp.config.http.changed": said,
    "instance.smtp.config.activated": activated,
    "instance.smtp.config.deactivated": deactivated,
    "instance.smtp.config.removed": removed,
    "instance.sms.configtwilio.added": said,
    "instance.sms.configtwilio.changed": said,
    "instance.sms.confighttp.added": said,
    "instance.sms.confighttp.changed": said,
    "instance.sms.configactivated": activated,
    "instance.sms.configdeactivated": deactivated,
    "instance.sms.configremoved": removed,
  },
})

export type ProviderSecretEvent =
  | Event<
      "instance.smtp.config.password.changed",
      Record<never, never>,
      { readonly sealed: string }
    >
  | Event<
      "instance.sms.configtwilio.token.changed",
      Record<never, never>,
      { readonly sealed: string }
    >
  | Event<"message.provider.signing.key.changed", Record<never, never>, { readonly sealed: string }>
  | Event<"message.provider.secret.removed">

/** What a provider is authenticated to with, or signed for; sealed. */
export type ProviderSecret = { readonly sealed: string }

const none: ProviderSecret = { sealed: "" }

const sealed = (
  _: ProviderSecret,
  { private: secret }: { readonly private: { readonly sealed: string } | null },
): ProviderSecret => ({ sealed: secret?.sealed ?? "" })

/** In a stream of its own for each provider, the id, so that each is forgotten by itself. */
export const providerSecret = aggregate<ProviderSecretEvent, ProviderSecret>({
  stream: "message_provider_secret",
  initial: none,
  evolve: {
    "instance.smtp.config.password.changed": sealed,
    "instance.sms.configtwilio.token.changed": sealed,
    "message.provider.signing.key.changed": sealed,
    "message.provider.secret.removed": () => none,
  },
})
