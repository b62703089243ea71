import { matchesAny } from "../../../kernel/crypto/secret.ts"
import { Fault, fieldError } from "../../../kernel/fault.ts"
import type { Cx, Draft, Receipt } from "../../../store/index.ts"
import { createRemoval } from "../../family/index.ts"
import { generateClientSecret } from "../../policy/index.ts"
import {
  type ApiApp,
  type AppEvent,
  type AppSecret,
  app,
  hasSecret,
  isClient,
  methodOf,
  type OidcApp,
} from "../model.ts"
import { appNotFoundError, requireClient, requireExists } from "../view.ts"

/** The stored form of a secret. */
export type SecretHash = { readonly id: string; readonly hash: string }

/** Generates a secret; returns it with its hash. */
export function newSecret(cx: Cx, appId: string): SecretHash & { readonly plain: string } {
  const plain = generateClientSecret(cx)
  return { id: cx.ids.next(), plain, hash: cx.secrets.hash(plain, hashContextOf(appId)) }
}

/** Hashes a secret that the caller chose. Rejects secrets that are too easy to guess. */
export function hashChosenSecret(cx: Cx, appId: string, plain: string): SecretHash {
  const isWritable = /^[\x21-\x7e]+$/.test(plain) && plain.length <= 256
  if (!isWritable || plain.length < 32 || new Set(plain).size < 10) {
    throw fieldError(
      "app.client_secret_invalid",
      "client_secret",
      "must have 32 to 256 printable ASCII characters without spaces, at least 10 of them " +
        "different; omit it to generate one",
    )
  }
  return { id: cx.ids.next(), hash: cx.secrets.hash(plain, hashContextOf(appId)) }
}

export const secretNotAllowedError = () =>
  fieldError(
    "app.client_secret_unused",
    "client_secret",
    "must be absent: this authentication method uses no secret",
  )

/** The hash context that binds a secret to its application. */
const hashContextOf = (appId: string) => `client_secret/${appId}`

/** Whether `secret` is one of the application's valid secrets; false if it has none. */
export const isValidSecret = (
  cx: Pick<Cx, "clock" | "secrets">,
  id: string,
  { state, secret }: { readonly state: OidcApp | ApiApp; readonly secret: string },
): boolean =>
  matchesAny(
    cx.secrets,
    validSecrets(state, cx.clock.now()).flatMap(({ hash }) => hash ?? []),
    { plain: secret, about: hashContextOf(id) },
  )

const validSecrets = ({ secrets }: OidcApp | ApiApp, now: number): readonly AppSecret[] =>
  secrets.filter(({ expires }) => now < expires)

/** The valid secrets of an application, oldest first, without their hashes. */
export function listSecrets(cx: Cx, id: string): readonly Omit<AppSecret, "hash">[] {
  const state = cx.store.state(cx, app, id)
  requireExists(state)
  if (state.kind === "none") throw appNotFoundError()
  return isClient(state) ? validSecrets(state, cx.clock.now()) : []
}

/** Erases the hashes in earlier events. */
export const secretErasure = (kind: ClientKind) => ({
  types: [
    `project.application.config.${kind}.secret.changed`,
    `project.application.config.${kind}.secret.removed`,
  ],
})
type ClientKind = "oidc" | "api"

/** The event for the secret of a new application. */
export const firstSecretEvent = (kind: ClientKind, { id, hash }: SecretHash): Draft<AppEvent> => ({
  type: `project.application.config.${kind}.secret.changed`,
  data: { secretId: id, kept: {} },
  private: { hashedSecret: hash, kept: {} },
  erase: secretErasure(kind),
})

/**
 * Two are enough for a rotation; more allow for deployments that take longer than a rotation
 * interval.
 */
const secretsMax = 10

type ReplaceSecretInput = SecretHash & {
  /** ms UTC; earlier secrets remain valid until then. If absent, they are revoked immediately. */
  readonly keepUntil?: number | undefined
}

/** Replaces the secret, or adds one to a client that lacks the secret it requires. */
export const replaceSecret = app.command<ReplaceSecretInput>(
  (state, { id, hash, keepUntil = 0 }, cx) => {
    requireExists(state)
    requireClient(state)
    if (!hasSecret(methodOf(state))) {
      throw new Fault(
        "failed_precondition",
        "app.no_secret",
        "this application authenticates without a secret; change its authentication method first",
      )
    }
    const live = keepUntil > cx.now ? validSecrets(state, cx.now) : []
    if (live.length >= secretsMax) {
      throw new Fault(
        "resource_exhausted",
        "app.too_many_secrets",
        `an application can have at most ${secretsMax} secrets; remove one that is no longer used`,
      )
    }
    const kept = Object.fromEntries(
      live.map((each) => [each.id, Math.min(each.expires, keepUntil)]),
    )
    return [
      {
        type: `project.application.config.${state.kind}.secret.changed`,
        data: { secretId: id, kept },
        private: { hashedSecret: hash, kept: hashesOf(live) },
        erase: secretErasure(state.kind),
      },
    ]
  },
)

/** Generates a new secret and returns it. It can't be read again later. */
export async function generateSecret(
  cx: Cx,
  appId: string,
  keepUntil?: number,
): Promise<{ readonly receipt: Receipt; readonly id: string; readonly secret: string }> {
  const { id, plain, hash } = newSecret(cx, appId)
  const receipt = await replaceSecret(cx, appId, { id, hash, keepUntil })
  return { receipt, id, secret: plain }
}

/** Revokes one secret. Returns undefined if it does not exist. */
export const removeSecret = createRemoval(app)<string>((state, secretId) => {
  requireExists(state)
  if (!isClient(state) || !state.secrets.some(({ id }) => id === secretId)) return undefined
  const type = `project.application.config.${state.kind}.secret.removed` as const
  return {
    type,
    data: { secretId },
    private: { kept: hashesOf(state.secrets.filter(({ id }) => id !== secretId)) },
    erase: secretErasure(state.kind),
  }
})

const hashesOf = (secrets: readonly AppSecret[]): Readonly<Record<string, string>> =>
  Object.fromEntries(secrets.flatMap(({ id, hash }) => (hash === null ? [] : [[id, hash]])))
