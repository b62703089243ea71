import { Fault } from "../../kernel/fault.ts"
import type { Decision, Draft } from "../../store/index.ts"
import { type InstanceEvent, instance } from "./model.ts"
import {
  type ClientRegistration,
  isRegistrationOff,
  type OidcSettings,
  type SecuritySettings,
} from "./setting.ts"

type Input = {
  readonly settings: Partial<OidcSettings>
  /** Whether a key signs with an algorithm; only the module of the keys knows. */
  readonly isSigning: (cx: Decision, algorithm: string) => boolean
  /** Whether a project may hold what strangers register; absent where nothing is said of that. */
  readonly isRegistrable?: (cx: Decision, projectId: string) => boolean
}

/** Says for the first time how tokens are made. */
export const addOidcSettings = instance.command<Input>((state, input, cx) => {
  mustBeThere(state.status)
  if (state.oidcSaid) {
    throw new Fault(
      "already_exists",
      "instance.oidc_settings_exist",
      "the settings have been added already; change them instead",
    )
  }
  const settings = { ...state.oidc, ...input.settings }
  check(cx, settings, input)
  checkRegistration(cx, state.oidc.registration, input)
  return [{ type: "instance.oidc.settings.added", data: settings }]
})

/** Changes how tokens are made from now on; what was issued keeps what it says. */
export const changeOidcSettings = instance.command<Input>((state, input, cx) => {
  mustBeThere(state.status)
  const settings = { ...state.oidc, ...input.settings }
  check(cx, settings, input)
  checkRegistration(cx, state.oidc.registration, input)
  const changed = Object.entries(settings).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(state.oidc, name)),
  )
  if (changed.length === 0) return []
  const event: Draft<InstanceEvent> = {
    type: "instance.oidc.settings.changed",
    data: Object.fromEntries(changed),
  }
  return [event]
})

/** Sets what the instance allows that others could misuse. */
export const setSecurity = instance.command<Partial<SecuritySettings>>((state, said) => {
  mustBeThere(state.status)
  const settings: SecuritySettings = { ...state.security, ...said }
  if (settings.enableIframeEmbedding && settings.allowedOrigins.length === 0) {
    throw refusedError("allowed_origins must name who may embed the pages, or embedding stays off")
  }
  for (const origin of settings.allowedOrigins) checkOrigin(origin)
  if (JSON.stringify(settings) === JSON.stringify(state.security)) return []
  return [{ type: "instance.policy.security.set", data: settings }]
})

const second = 1
const minute = 60
const day = 86_400

/**
 * The longest that a signed token may count, in seconds. A key that no longer signs is kept for
 * this long, whatever the settings were when it did.
 */
export const signedLifetimeMax = 30 * day

type Bound = readonly [name: keyof OidcSettings & string, text: string, min: number, max: number]

const bounds: readonly Bound[] = [
  ["accessTokenLifetime", "access_token_lifetime", second, signedLifetimeMax],
  ["idTokenLifetime", "id_token_lifetime", second, signedLifetimeMax],
  ["refreshTokenIdleExpiration", "refresh_token_idle_expiration", second, 3650 * day],
  ["refreshTokenExpiration", "refresh_token_expiration", second, 3650 * day],
  ["refreshTokenGrace", "refresh_token_grace", 0, minute],
]

/** A lifetime within its bounds, in whole seconds. */
export function checkSeconds(field: string, value: number, min: number, max: number): void {
  if (Number.isInteger(value) && value >= min && value <= max) return
  throw refusedError(`${field} must be ${min} to ${max} whole seconds`)
}

/** Refuses lifetimes that nobody can mean; used for the instance and for each application. */
export function checkLifetimes(settings: Partial<OidcSettings>): void {
  for (const [name, text, min, max] of bounds) {
    const value = settings[name]
    if (typeof value === "number") checkSeconds(text, value, min, max)
  }
  const { refreshTokenIdleExpiration: idle, refreshTokenExpiration: absolute } = settings
  if (idle !== undefined && absolute !== undefined && idle > absolute) {
    throw refusedError(
      "refresh_token_idle_expiration must not be more than refresh_token_expiration",
    )
  }
}

function check(cx: Decision, settings: OidcSettings, { isSigning }: Input): void {
  checkLifetimes(settings)
  const { periodSeconds, aheadSeconds } = settings.keyRotation
  checkSeconds("key_rotation.period", periodSeconds, day, 3650 * day)
  checkSeconds("key_rotation.publish_ahead", aheadSeconds, 10 * minute, 90 * day)
  if (aheadSeconds > periodSeconds / 2) {
    throw refusedError(
      "key_rotation.publish_ahead must not be more than half of key_rotation.period",
    )
  }
  for (const algorithm of [settings.idTokenAlgorithm, settings.accessTokenAlgorithm]) {
    if (!isSigning(cx, algorithm)) throw noKeyError(algorithm)
  }
}

const applicationsMax = 100_000

/** A project that is gone meanwhile keeps nobody from changing anything else. */
function checkRegistration(cx: Decision, before: ClientRegistration, input: Input): void {
  const wanted = input.settings.registration ?? before
  if (JSON.stringify(wanted) === JSON.stringify(before)) return
  checkSeconds("client_registration.lifetime", wanted.lifetimeSeconds, day, 3650 * day)
  const count = wanted.applicationsMax
  if (!Number.isInteger(count) || count < 1 || count > applicationsMax) {
    throw refusedError(`client_registration.applications_max must be 1 to ${applicationsMax}`)
  }
  const { consentLifetimeSeconds: consent = 0 } = wanted
  checkSeconds("client_registration.consent_lifetime", consent, 0, 365 * day)
  if (isRegistrationOff(wanted) || input.isRegistrable?.(cx, wanted.projectId)) return
  throw new Fault(
    "failed_precondition",
    "instance.registration_project_missing",
    "client_registration.project_id must name an active project for the applications that " +
      "register themselves; create one for them, and not in the project of the console",
  )
}

/** What a caller gets who chooses an algorithm that nothing signs with. */
export const noKeyError = (algorithm: string): Fault =>
  new Fault(
    "failed_precondition",
    "web_key.none_active",
    `no web key signs with ${JSON.stringify(algorithm)}; create one and activate it first`,
  )

function checkOrigin(text: string): void {
  if (URL.canParse(text) && new URL(text).origin === text && /^https?:/.test(text)) return
  throw refusedError("allowed_origins must be origins such as https://app.example.com")
}

function mustBeThere(status: string): void {
  if (status === "active") return
  throw new Fault("failed_precondition", "instance.not_set_up", "nothing is set up yet")
}

const refusedError = (wanted: string) =>
  new Fault("invalid_argument", "instance.setting_invalid", wanted)
