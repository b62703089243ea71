import { formOf } from "../form/made.tsx"
import type { Translate } from "../shell/text.ts"

/** A password of something else than the person: no password manager fills it in. */
export const passwordForm = (t: Translate, change: (secret: string) => Promise<unknown>) =>
  formOf({
    initial: { password: "" },
    secret: ["password"],
    refusals: { password: ["message_provider.secret"] },
    save: ({ password }) => change(password),
    submit: t("form.save"),
    fields: ({ secret }) =>
      secret("password", t("providers.password_new"), { maxLength: 1000, required: true }),
  })
