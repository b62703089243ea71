import { type Controls, defineForm } from "../form/index.ts"
import { ignoreError, t } from "../shell/index.ts"

/** A key that signs requests to a service; shown only once. */
export type CreatedSigningKey = { readonly id: string; readonly signingKey: string }

export type SigningKeyProps = { readonly onKeyCreated: (created: CreatedSigningKey) => void }

/** Shows a new key and closes the form. */
export const showKey =
  (onKeyCreated: SigningKeyProps["onKeyCreated"]) =>
  (created: CreatedSigningKey | undefined, close: () => void) => {
    if (created?.signingKey) onKeyCreated(created)
    close()
  }

/** Saving without changes is not an error. */
export const ignoreUnchanged = <Answer>(change: Promise<Answer>) =>
  ignoreError("message_provider.unchanged", change)

/** Replaces the current key regardless of its age. */
const expireKeyNow = { expirationSigningKey: { seconds: 0n } } as const

/** Form values of an HTTP service for messages. */
export type HttpValues = {
  readonly description: string
  readonly endpoint: string
  readonly renew: boolean
}

/** The HTTP settings of a request. */
export const toHttpRequest = ({ endpoint, description }: HttpValues) => ({
  endpoint: endpoint.trim(),
  description,
})

export const keyRenewal = ({ renew }: HttpValues) => (renew ? expireKeyNow : {})

type HttpControls = Pick<Controls<HttpValues>, "text" | "check">

export const httpFields = ({ text, check }: HttpControls, isNew: boolean) => [
  text("endpoint", t("providers.endpoint"), {
    hint: t("providers.endpoint_hint"),
    placeholder: "https://hooks.example.org/messages",
    type: "url",
    maxLength: 2048,
    required: true,
  }),
  !isNew && check("renew", t("providers.renew"), t("providers.renew_hint")),
]

/** A password of another system, excluded from password managers. */
export const passwordForm = (change: (secret: string) => Promise<unknown>) =>
  defineForm({
    initial: { password: "" },
    secret: ["password"],
    refusals: { password: ["message_provider.secret"] },
    save: ({ password }) => change(password),
    submit: t("form.save"),
    fields: ({ secret }) =>
      secret("password", t("providers.password_new"), { maxLength: 1000, required: true }),
  })
