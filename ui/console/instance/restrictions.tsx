import {
  AdminService,
  type GetRestrictionsResponse,
} from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { EditSection } from "../form/form.tsx"
import { formOf } from "../form/made.tsx"
import { call } from "../shell/call.ts"
import { type Translate, useText } from "../shell/text.ts"
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
      rows={[
        [t("restrictions.languages"), listed || all],
        [
          t("restrictions.registration"),
          t(isRefused ? "restrictions.refused" : "restrictions.not_refused"),
        ],
      ]}
      form={restrictionForm(t, named, restrictions)}
    />
  )
}

/** Languages as the person who reads the console calls them. */
function useLanguageNames(): (language: string) => string {
  const { language: reader } = useText()
  const names = new Intl.DisplayNames([reader], { type: "language" })
  return (language) => names.of(language) ?? language
}

const restrictionForm = (
  t: Translate,
  named: (language: string) => string,
  restrictions: GetRestrictionsResponse,
) =>
  formOf({
    initial: {
      languages:
        restrictions.allowedLanguages.length > 0 ? restrictions.allowedLanguages : languages,
      disallow: restrictions.disallowPublicOrgRegistration,
    },
    save: async (wanted) => {
      const changed = changeOf(restrictions, wanted)
      if (changed) await call(AdminService.method.setRestrictions, changed)
    },
    disabled: (values) => values.languages.length === 0,
    fields: ({ checks, check }) => [
      <div className="stack stack-tight" key="languages">
        {checks("languages", t("restrictions.languages"), { of: languages, words: named })}
        <p className="quiet small">{t("restrictions.languages_hint")}</p>
      </div>,
      check("disallow", t("restrictions.disallow"), t("restrictions.disallow_hint")),
    ],
  })
