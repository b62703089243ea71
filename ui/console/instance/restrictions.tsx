import {
  AdminService,
  type GetRestrictionsResponse,
} from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Check, Checks } from "../../kit/check.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { call } from "../shell/call.ts"
import { Facts } from "../shell/detail.tsx"
import { useText } from "../shell/text.ts"
import { changeOf, languages } from "./restriction.ts"

type RestrictionsProps = { readonly restrictions: GetRestrictionsResponse }

/** What the pages for signing in leave out. */
export function Restrictions({ restrictions }: RestrictionsProps) {
  const { t } = useText()
  const { allowedLanguages, disallowPublicOrgRegistration: isRefused } = restrictions
  const named = useLanguageNames()
  const listed = allowedLanguages.map(named).join(", ")
  const all = t("restrictions.languages_all", { list: languages.map(named).join(", ") })
  return (
    <EditSection
      needs={AdminService.method.setRestrictions}
      title={t("restrictions.title")}
      facts={
        <Facts
          rows={[
            [t("restrictions.languages"), listed || all],
            [
              t("restrictions.registration"),
              t(isRefused ? "restrictions.refused" : "restrictions.not_refused"),
            ],
          ]}
        />
      }
      form={(id, close) => <RestrictionForm {...{ restrictions, id, close }} />}
    />
  )
}

/** Languages as the person who reads the console calls them. */
function useLanguageNames(): (language: string) => string {
  const { language: reader } = useText()
  const names = new Intl.DisplayNames([reader], { type: "language" })
  return (language) => names.of(language) ?? language
}

type FormProps = RestrictionsProps & { readonly id: string; readonly close: () => void }

type Values = { readonly languages: readonly string[]; readonly disallow: boolean }

function RestrictionForm({ restrictions, id, close }: FormProps) {
  const { t } = useText()
  const named = useLanguageNames()
  const { allowedLanguages, disallowPublicOrgRegistration } = restrictions
  const form = useForm<Values>({
    id,
    initial: {
      languages: allowedLanguages.length > 0 ? allowedLanguages : languages,
      disallow: disallowPublicOrgRegistration,
    },
    save: async (wanted) => {
      const changed = changeOf(restrictions, wanted)
      if (changed) await call(AdminService.method.setRestrictions, changed)
    },
    done: close,
  })
  const { values, change } = form
  return (
    <Fields form={form} onCancel={close} disabled={values.languages.length === 0}>
      <div className="stack stack-tight">
        <Checks
          legend={t("restrictions.languages")}
          options={languages.map((value) => ({ value, label: named(value) }))}
          values={values.languages}
          onChange={(chosen) => change({ languages: chosen })}
        />
        <p className="quiet small">{t("restrictions.languages_hint")}</p>
      </div>
      <Check
        label={t("restrictions.disallow")}
        hint={t("restrictions.disallow_hint")}
        checked={values.disallow}
        onChange={(disallow) => change({ disallow })}
      />
    </Fields>
  )
}
