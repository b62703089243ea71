import { Histories } from "../list/index.ts"
import { Page, t } from "../shell/index.ts"
import { Administrators } from "./administrators.tsx"
import { CustomRoles } from "./custom-roles.tsx"

/** Administrators of the instance, and the roles available at every level. */
export function AdministratorsPage() {
  return (
    <Page title={t("nav.administrators")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("administrators.lead")}</p>
      <Administrators of={{ case: "instance", value: true }} />
      <CustomRoles />
      <Histories of={["instance", "roles"]} />
    </Page>
  )
}
