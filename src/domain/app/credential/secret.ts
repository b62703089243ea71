import { isOneOf } from "../../../kernel/crypto/secret.ts"
import { Fault, fieldError } from "../../../kernel/fault.ts"
import type { Cx, Draft, Receipt } from "../../../store/index.ts"
import { removalFrom } from "../../family/index.ts"
import { newClientSecret } from "../../policy/index.ts"
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
import { missingAppError, mustBeClient, mustExist } from "../view.ts"

/** What is kept of a secret. */
export type SecretHash = { readonly id: string; readonly hash: string }

/** A secret as the instance makes them, and what is kept of it. */
export function newSecret(cx: Cx, appId: string): SecretHash & { readonly plain: string } {
  const plain = newClientSecret(cx)
  return { id: cx.ids.next(), plain, hash: cx.secrets.hash(plain, aboutOf(appId)) }
}

/** Hashes a secret that the caller chose; refuses one that could be guessed. */
export function chosenSecret(cx: Cx, appId: string, plain: string): SecretHash {
  const isWritable = /^[\x21-\x7e]+$/.test(plain) && plain.length <= 256
  if (!isWritable || plain.length < 32 || new Set(plain).size < 10) {
    throw fieldError(
      "app.client_secret_invalid",
      "client_secret",
      "must have 32 to 256 printable ASCII characters without spaces, at least 10 of them " +
        "different; leave it out to have one generated",
    )
  }
  return { id: cx.ids.next(), hash: cx.secrets.hash(plain, aboutOf(appId)) }
}

export const secretUnusedError = () =>
  fieldError(
    "app.client_secret_unused",
    "client_secret",
    "must be left out: this authentication method uses no secret",
  )

/** Binds the hash of a secret to its application. */
const aboutOf = (appId: string) => `client_secret/${appId}`

/** Whether `secret` is one of the application's; false where it has none. */
export const isSecret = (
  cx: Pick<Cx, "clock" | "secrets">,
  id: string,
  { state, secret }: { readonly state: OidcApp | ApiApp; readonly secret: string },
): boolean =>
  isOneOf(
    cx.secrets,
    liveSecrets(state, cx.clock.now()).flatMap(({ hash }) => hash ?? []),
    { plain: secret, about: aboutOf(id) },
  )

const liveSecrets = ({ secrets }: OidcApp | ApiApp, now: number): readonly AppSecret[] =>
  secrets.filter(({ expires }) => now < expires)

/** The secrets of an application that are good now, oldest first; never what they are. */
export function secretsOf(cx: Cx, id: string): readonly Omit<AppSecret, "hash">[] {
  const state = cx.store.state(cx, app, id)
  mustExist(state)
  if (state.kind === "none") throw missingAppError()
  return isClient(state) ? liveSecrets(state, cx.clock.now()) : []
}

/** Erases the hashes that earlier events carry. */
export const secretErasure = (kind: Kind) => ({
  types: [
    `project.application.config.${kind}.secret.changed`,
    `project.application.config.${kind}.secret.removed`,
  ],
})
type Kind = "oidc" | "api"

/** The secret of a new application. */
export const firstSecret = (kind: Kind, { id, hash }: SecretHash): Draft<AppEvent> => ({
  type: `project.application.config.${kind}.secret.changed`,
  data: { secretId: id, kept: {} },
  private: { hashedSecret: hash, kept: {} },
  erase: secretErasure(kind),
})

/** For a rotation: two would do, but a deployment may be slower than the next one begins. */
const secretsMax = 10

type NewSecret = SecretHash & {
  /** ms UTC; until then the older ones are good, too. Left out, they are void at once. */
  readonly keepUntil?: number | undefined
}

/** Replaces the secret, or gives one to a client that should have had it. */
export const replaceSecret = app.command<NewSecret>((state, { id, hash, keepUntil = 0 }, cx) => {
  mustExist(state)
  mustBeClient(state)
  if (!hasSecret(methodOf(state))) {
    throw new Fault(
      "failed_precondition",
      "app.no_secret",
      "this application authenticates without a secret; change its authentication method first",
    )
  }
  const live = keepUntil > cx.now ? liveSecrets(state, cx.now) : []
  if (live.length >= secretsMax) {
    throw new Fault(
      "resource_exhausted",
      "app.too_many_secrets",
      `an application has at most ${secretsMax} secrets; remove one that is no longer used`,
    )
  }
  const kept = Object.fromEntries(live.map((each) => [each.id, Math.min(each.expires, keepUntil)]))
  return [
    {
      type: `project.application.config.${state.kind}.secret.changed`,
      data: { secretId: id, kept },
      private: { hashedSecret: hash, kept: hashesOf(live) },
      erase: secretErasure(state.kind),
    },
  ]
})

/** Makes a new secret and answers it this once. */
export async function generateSecret(
  cx: Cx,
  appId: string,
  keepUntil?: number,
): Promise<{ readonly receipt: Receipt; readonly id: string; readonly secret: string }> {
  const { id, plain, hash } = newSecret(cx, appId)
  const receipt = await replaceSecret(cx, appId, { id, hash, keepUntil })
  return { receipt, id, secret: plain }
}

/** Voids one secret; answers undefined where there is no such one. */
export const removeSecret = removalFrom(app)<string>((state, secretId) => {
  mustExist(state)
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
