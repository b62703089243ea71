import { Check } from "../../kit/check.tsx"
import { TextField } from "../../kit/field.tsx"
import type { Form } from "../form/use-form.ts"
import { useText } from "../shell/text.ts"

/** What is said of a service that takes messages over HTTP. */
export type HttpValues = { readonly endpoint: string; readonly renew: boolean }

type HttpFieldsProps<Values extends HttpValues> = {
  readonly form: Form<Values>
  readonly isNew: boolean
}

export function HttpFields({ form, isNew }: HttpFieldsProps<HttpValues>) {
  const { t } = useText()
  return (
    <>
      <TextField
        label={t("providers.endpoint")}
        hint={t("providers.endpoint_hint")}
        type="url"
        placeholder="https://hooks.example.org/messages"
        {...form.text("endpoint")}
        maxLength={2048}
        required
      />
      {!isNew && (
        <Check
          label={t("providers.renew")}
          hint={t("providers.renew_hint")}
          checked={form.values.renew}
          onChange={(renew) => form.change({ renew })}
        />
      )}
    </>
  )
}
