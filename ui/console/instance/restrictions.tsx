import {
  AdminService,
  type GetRestrictionsResponse,
} from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { pageLanguages } from "../../../src/kernel/text/language.ts"
import { defineForm, EditSection } from "../form/index.ts"
import { call, languageName, t } from "../shell/index.ts"
import { restrictionChange } from "./restriction-change.ts"

type RestrictionsProps = { readonly restrictions: GetRestrictionsResponse }

/** Restrictions of the login pages. */
export function Restrictions({ restrictions }: RestrictionsProps) {
  const { allowedLanguages, disallowPublicOrgRegistration: isRefused } = restrictions
  const listed = allowedLanguages.map(languageName).join(", ")
  const all = t("restrictions.languages_all", { list: pageLanguages.map(languageName).join(", ") })
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
      form={restrictionForm(restrictions)}
    />
  )
}

const restrictionForm = (restrictions: GetRestrictionsResponse) =>
  defineForm({
    initial: {
      languages:
        restrictions.allowedLanguages.length > 0 ? restrictions.allowedLanguages : pageLanguages,
      isRegistrationAllowed: !restrictions.disallowPublicOrgRegistration,
    },
    save: async (formValues) => {
      const changed = restrictionChange(restrictions, formValues)
      if (changed) await call(AdminService.method.setRestrictions, changed)
    },
    disabled: (values) => values.languages.length === 0,
    fields: ({ checks, check }) => [
      <div className="stack stack-tight" key="languages">
        {checks("languages", t("restrictions.languages"), {
          of: pageLanguages,
          label: languageName,
        })}
        <p className="quiet small">{t("restrictions.languages_hint")}</p>
      </div>,
      check("isRegistrationAllowed", t("restrictions.disallow"), t("restrictions.disallow_hint")),
    ],
  })
