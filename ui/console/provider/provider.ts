import { type Controls, formOf } from "../form/index.ts"
import { t, unless } from "../shell/index.ts"

/** A key that requests to a service are signed with; it is shown this once. */
export type CreatedSigningKey = { readonly id: string; readonly signingKey: string }

export type OnMade = { readonly onMade: (made: CreatedSigningKey) => void }

/** Shows a key that is new, and closes the form. */
export const shownBy =
  (onMade: OnMade["onMade"]) => (made: CreatedSigningKey | undefined, close: () => void) => {
    if (made?.signingKey) onMade(made)
    close()
  }

/** Saves what may be as it was. */
export const saved = <Answer>(change: Promise<Answer>) =>
  unless("message_provider.unchanged", change)

/** Whatever its age, the present key is replaced. */
const newKey = { expirationSigningKey: { seconds: 0n } } as const

/** What is said of a service that takes messages over HTTP. */
export type HttpValues = {
  readonly description: string
  readonly endpoint: string
  readonly renew: boolean
}

/** The same as requests carry it. */
export const httpOf = ({ endpoint, description }: HttpValues) => ({
  endpoint: endpoint.trim(),
  description,
})

export const renewedOf = ({ renew }: HttpValues) => (renew ? newKey : {})

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

/** A password of something else than the person: no password manager fills it in. */
export const passwordForm = (change: (secret: string) => Promise<unknown>) =>
  formOf({
    initial: { password: "" },
    secret: ["password"],
    refusals: { password: ["message_provider.secret"] },
    save: ({ password }) => change(password),
    submit: t("form.save"),
    fields: ({ secret }) =>
      secret("password", t("providers.password_new"), { maxLength: 1000, required: true }),
  })
