import { useState } from "react"
import type { GetRestrictionsResponse } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { Check, Checks } from "../../kit/check.tsx"
import { ActionForm, EditSection, useSaving } from "../form.tsx"
import { useHouse } from "../house.ts"
import type { Changed } from "../load.ts"
import { changeOf, languages } from "./restriction.ts"

type RestrictionsProps = {
  readonly restrictions: GetRestrictionsResponse
  readonly onChanged: Changed
}

/** What the pages for signing in leave out. */
export function Restrictions(props: RestrictionsProps) {
  const { t } = useHouse()
  return (
    <EditSection
      title={t("restrictions.title")}
      facts={<Facts {...props} />}
      form={(close) => <RestrictionForm {...props} close={close} />}
    />
  )
}

function Facts({ restrictions }: RestrictionsProps) {
  const { t } = useHouse()
  const { allowedLanguages, disallowPublicOrgRegistration } = restrictions
  const named = useLanguageNames()
  const listed = allowedLanguages.map(named).join(", ")
  return (
    <dl className="facts">
      <dt>{t("restrictions.languages")}</dt>
      <dd>
        {listed || t("restrictions.languages_all", { list: languages.map(named).join(", ") })}
      </dd>
      <dt>{t("restrictions.registration")}</dt>
      <dd>
        {t(disallowPublicOrgRegistration ? "restrictions.refused" : "restrictions.not_refused")}
      </dd>
    </dl>
  )
}

/** Languages as the person who reads the console calls them. */
function useLanguageNames(): (language: string) => string {
  const { language: reader } = useHouse()
  const names = new Intl.DisplayNames([reader], { type: "language" })
  return (language) => names.of(language) ?? language
}

function RestrictionForm(props: RestrictionsProps & { readonly close: () => void }) {
  const { t, core } = useHouse()
  const { restrictions, onChanged, close } = props
  const named = useLanguageNames()
  const { allowedLanguages } = restrictions
  const [chosen, setChosen] = useState<readonly string[]>(
    allowedLanguages.length > 0 ? allowedLanguages : languages,
  )
  const [disallow, setDisallow] = useState(restrictions.disallowPublicOrgRegistration)
  const save = async () => {
    const change = changeOf(restrictions, { languages: chosen, disallow })
    if (change) await core.admin.setRestrictions(change)
  }
  const action = useSaving(save, onChanged, close)
  return (
    <ActionForm action={action} onCancel={close} disabled={chosen.length === 0}>
      <div className="stack stack-tight">
        <Checks
          legend={t("restrictions.languages")}
          options={languages.map((value) => ({ value, label: named(value) }))}
          values={chosen}
          onChange={setChosen}
        />
        <p className="quiet small">{t("restrictions.languages_hint")}</p>
      </div>
      <Check
        label={t("restrictions.disallow")}
        hint={t("restrictions.disallow_hint")}
        checked={disallow}
        onChange={setDisallow}
      />
    </ActionForm>
  )
}
