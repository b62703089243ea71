import { Administrators } from "../administrators.tsx"
import { useHouse } from "../house.ts"
import { CustomRoles } from "../instance/custom-roles.tsx"
import { useReadings } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"

/** Who administers the instance, and the roles that administrators of every level can have. */
export function AdministratorsPage() {
  const { t } = useHouse()
  const readings = useReadings()
  return (
    <PageFrame title={t("nav.administrators")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("administrators.lead")}</p>
      <Administrators of={{ case: "instance", value: true }} readings={readings} />
      <CustomRoles readings={readings} />
    </PageFrame>
  )
}
