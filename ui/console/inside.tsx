import { useMemo, useState } from "react"
import type { Translate } from "../kit/catalogue.ts"
import { coreOf, unlessDenied } from "./core.ts"
import { Gate } from "./gate.tsx"
import { HouseContext, type Organization } from "./house.ts"
import { useLoad } from "./load.ts"
import { Navigation } from "./navigation.tsx"
import { AdministratorsPage } from "./page/administrators-page.tsx"
import { ApplicationPage } from "./page/application-page.tsx"
import { ApplicationsPage } from "./page/applications-page.tsx"
import { GrantedProjectPage } from "./page/granted-project-page.tsx"
import { GroupsPage } from "./page/groups-page.tsx"
import { MissingPage } from "./page/missing-page.tsx"
import { NewApplicationPage } from "./page/new-application-page.tsx"
import { NewUserPage } from "./page/new-user-page.tsx"
import { OrganizationPage } from "./page/organization-page.tsx"
import { OrganizationsPage } from "./page/organizations-page.tsx"
import { ProjectPage } from "./page/project-page.tsx"
import { ProjectsPage } from "./page/projects-page.tsx"
import { RefusedRequestsPage } from "./page/refused-requests-page.tsx"
import { SettingsPage } from "./page/settings-page.tsx"
import { SigningKeysPage } from "./page/signing-keys-page.tsx"
import { UserPage } from "./page/user-page.tsx"
import { UsersPage } from "./page/users-page.tsx"
import { type Route, useRoute } from "./route.ts"
import type { SignedIn } from "./sign-in.ts"
import type { TextKey } from "./texts/index.ts"

type InsideProps = {
  readonly t: Translate<TextKey>
  readonly language: string
  readonly signedIn: SignedIn
}

const chosenKey = "latchkey.organization"

/** The signed-in console: it first finds the organisations one may see. */
export function Inside({ t, language, signedIn }: InsideProps) {
  const core = useMemo(() => coreOf(signedIn.accessToken, signedIn.again), [signedIn])
  const [chosen, setChosen] = useState(localStorage.getItem(chosenKey))
  const loaded = useLoad("organizations", "", async (signal) => {
    const query = { limit: 200, asc: true }
    const [answer, instance] = await Promise.all([
      unlessDenied(core.organizations.listOrganizations({ query }, { signal }), undefined),
      unlessDenied(core.admin.getMyInstance({}, { signal }), undefined),
    ])
    const organizations = (answer?.result ?? []).map(({ id, name }): Organization => ({ id, name }))
    return { organizations, seesInstance: instance !== undefined }
  })
  if (loaded.status === "loading") return null
  const refused = { action: t("nav.sign_out"), onAct: signedIn.signOut }
  if (loaded.status === "failed") {
    return <Gate title={t("gate.failed")} message={loaded.message} {...refused} />
  }
  const { organizations, seesInstance } = loaded.value
  const organization = organizations.find((one) => one.id === chosen) ?? organizations[0]
  if (!organization) return <Gate title={t("gate.no_organization")} {...refused} />
  const choose = (id: string) => {
    localStorage.setItem(chosenKey, id)
    setChosen(id)
  }
  const own = { organizations, organization, seesInstance, choose }
  const organizationsChanged = loaded.reload
  const house = { t, language, core, signedIn, organizationsChanged, ...own }
  return (
    <HouseContext value={house}>
      <div className="console">
        <aside className="sidebar">
          <Navigation />
        </aside>
        <Content />
      </div>
    </HouseContext>
  )
}

function Content() {
  const route = useRoute()
  return <div className="column">{pageOf(route)}</div>
}

function pageOf(route: Route) {
  switch (route.page) {
    case "projects":
      return <ProjectsPage />
    case "project":
      return <ProjectPage key={route.projectId} projectId={route.projectId} />
    case "granted-project":
      return <GrantedProjectPage key={route.projectId} projectId={route.projectId} />
    case "new-application":
      return <NewApplicationPage key={route.projectId} projectId={route.projectId} />
    case "application":
      return <ApplicationPage key={route.applicationId} applicationId={route.applicationId} />
    case "applications":
      return <ApplicationsPage />
    case "users":
      return <UsersPage />
    case "new-user":
      return <NewUserPage />
    case "user":
      return <UserPage key={route.userId} userId={route.userId} />
    case "groups":
      return <GroupsPage />
    case "organizations":
      return <OrganizationsPage />
    case "organization":
      return <OrganizationPage key={route.organizationId} organizationId={route.organizationId} />
    case "administrators":
      return <AdministratorsPage />
    case "refused-requests":
      return <RefusedRequestsPage key={route.requestId} requestId={route.requestId} />
    case "signing-keys":
      return <SigningKeysPage />
    case "settings":
      return <SettingsPage />
    case "missing":
      return <MissingPage />
  }
}
