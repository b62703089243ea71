import { findClient, orgOidcSettingsOf, type TokenConfig } from "../../domain/app/index.ts"
import { type OidcSettings, requireInstance } from "../../domain/instance/index.ts"
import { type AccessTokenJwtType, type Algorithm, algorithms } from "../../domain/key/index.ts"
import { user } from "../../domain/user-model/index.ts"
import { type Cx, cacheQuery } from "../../store/index.ts"

/** Lifetimes of issued tokens, in seconds. */
export type Lifetimes = {
  readonly access: number
  readonly id: number
  /** A refresh token that is not used for this long expires. */
  readonly refreshIdle: number
  /** Regardless of how often it is used. */
  readonly refreshAbsolute: number
  /** How long the previous refresh token is still accepted. */
  readonly refreshGrace: number
}

/** The signing algorithm of a JWT access token, and the `typ` of its header. */
export type AccessTokenFormat = { readonly typ: AccessTokenJwtType; readonly algorithm: Algorithm }

/** The lifetimes for a client of this instance. */
export function lifetimesOf(cx: Cx, clientId: string): Lifetimes {
  const settings = effectiveSettings(cx, clientId)
  return {
    access: settings.accessTokenLifetime,
    id: settings.idTokenLifetime,
    refreshIdle: settings.refreshTokenIdleExpiration,
    refreshAbsolute: settings.refreshTokenExpiration,
    refreshGrace: settings.refreshTokenGrace,
  }
}

/** The signing algorithm for ID tokens of a client; it has an active key. */
export const idTokenAlgorithm = (cx: Cx, clientId: string): Algorithm =>
  parseAlgorithm(effectiveSettings(cx, clientId).idTokenAlgorithm)

/**
 * The format of an access token: the setting of its application, or of the service account that
 * receives it without an application; otherwise of the instance.
 */
export function accessTokenFormat(
  cx: Cx,
  { clientId, userId }: { readonly clientId: string; readonly userId: string },
): AccessTokenFormat {
  const { accessTokenAlgorithm: algorithm, accessTokenJwtType: typ = "at+jwt" } = effectiveSettings(
    cx,
    clientId,
  )
  const state = findClient(cx, clientId) ? undefined : cx.store.state(cx, user, userId)
  const machine = state && "kind" in state && state.kind === "machine" ? state : undefined
  return {
    typ: machine?.jwtType ?? typ,
    algorithm: parseAlgorithm(machine?.jwtAlgorithm ?? algorithm),
  }
}

/** The setting of the application, otherwise of its organization, otherwise of the instance. */
function effectiveSettings(cx: Cx, clientId: string): Settings {
  const cache = settingsCache(cx)
  const settings = cache.get(clientId) ?? {
    ...requireInstance(cx).oidc,
    ...applicationSettings(cx, clientId),
  }
  if (cache.size < settingsCacheMax) cache.set(clientId, settings)
  return settings
}

const settingsCache = cacheQuery(
  () => new Map<string, Settings>(),
  ["instance", "org", "project", "app"],
)
const settingsCacheMax = 2000

type Settings = OidcSettings & TokenConfig

function applicationSettings(cx: Cx, clientId: string): TokenConfig {
  const state = findClient(cx, clientId)?.state
  if (state?.kind !== "oidc") return {}
  const { pkceRequired: _, ...rotation } = orgOidcSettingsOf(cx, state)
  return { ...rotation, ...state.oidc.tokens }
}

/** Settings are rejected unless their algorithm has an active key. */
function parseAlgorithm(name: string): Algorithm {
  const algorithm = algorithms.find((each) => each === name)
  if (!algorithm) throw new Error(`${name} is not a supported signing algorithm`)
  return algorithm
}
