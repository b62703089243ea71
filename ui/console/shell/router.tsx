import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from "@tanstack/react-router"
import { Failed } from "./boundary.tsx"
import { Waiting } from "./frame.tsx"
import { Missing } from "./missing.tsx"
import { Shell } from "./shell.tsx"
import { loadPageTexts } from "./texts/index.ts"

/** What any address may carry: the organisation, and where its lists stand. */
export type Search = {
  readonly org?: string | undefined
  readonly [list: string]: string | undefined
}

/** Addresses are read by people: ?q=ada, without quotes; whatever is no text is dropped. */
function validateSearch(given: Record<string, unknown>): Search {
  const texts = Object.entries(given).flatMap(([key, value]) =>
    typeof value === "string" && value !== "" ? [[key, value] as const] : [],
  )
  return Object.fromEntries(texts)
}

const root = createRootRoute({
  component: Shell,
  notFoundComponent: Missing,
  errorComponent: Failed,
  validateSearch,
  search: { middlewares: [retainSearchParams(["org"])] },
})

const getParentRoute = () => root

/** A page is loaded with its first visit, and what pages say with the first of them. */
const page: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(async () => {
    const [module] = await Promise.all([load(), loadPageTexts()])
    return module
  }, name)

const home = createRoute({
  getParentRoute,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/projects", replace: true })
  },
})

const projects = createRoute({
  getParentRoute,
  path: "/projects",
  // Its texts are there already, so that the first page is not held back by those of others.
  component: lazyRouteComponent(() => import("../project/projects-page.tsx"), "ProjectsPage"),
})

const project = createRoute({
  getParentRoute,
  path: "/projects/$projectId",
  component: page(() => import("../project/project-page.tsx"), "ProjectPage"),
})

const newApplication = createRoute({
  getParentRoute,
  path: "/projects/$projectId/new-application",
  component: page(() => import("../application/new-application-page.tsx"), "NewApplicationPage"),
})

const grantedProject = createRoute({
  getParentRoute,
  path: "/granted-projects/$projectId",
  component: page(() => import("../project/granted-project-page.tsx"), "GrantedProjectPage"),
})

const applications = createRoute({
  getParentRoute,
  path: "/applications",
  component: page(() => import("../application/applications-page.tsx"), "ApplicationsPage"),
})

const anyNewApplication = createRoute({
  getParentRoute,
  path: "/applications/new",
  component: page(() => import("../application/new-application-page.tsx"), "AnyNewApplicationPage"),
})

const application = createRoute({
  getParentRoute,
  path: "/applications/$applicationId",
  component: page(() => import("../application/application-page.tsx"), "ApplicationPage"),
})

const users = createRoute({
  getParentRoute,
  path: "/users",
  component: page(() => import("../user/users-page.tsx"), "UsersPage"),
})

const newUser = createRoute({
  getParentRoute,
  path: "/users/new",
  component: page(() => import("../user/new-user-page.tsx"), "NewUserPage"),
})

const user = createRoute({
  getParentRoute,
  path: "/users/$userId",
  component: page(() => import("../user/user-page.tsx"), "UserPage"),
})

const groups = createRoute({
  getParentRoute,
  path: "/groups",
  component: page(() => import("../group/groups-page.tsx"), "GroupsPage"),
})

const group = createRoute({
  getParentRoute,
  path: "/groups/$groupId",
  component: page(() => import("../group/group-page.tsx"), "GroupPage"),
})

const organizations = createRoute({
  getParentRoute,
  path: "/organizations",
  component: page(() => import("../organization/organizations-page.tsx"), "OrganizationsPage"),
})

const organization = createRoute({
  getParentRoute,
  path: "/organizations/$organizationId",
  component: page(() => import("../organization/organization-page.tsx"), "OrganizationPage"),
})

const organizationPolicies = createRoute({
  getParentRoute,
  path: "/organizations/$organizationId/policies",
  component: page(
    () => import("../policy/organization-policies-page.tsx"),
    "OrganizationPoliciesPage",
  ),
})

const administrators = createRoute({
  getParentRoute,
  path: "/administrators",
  component: page(() => import("../instance/administrators-page.tsx"), "AdministratorsPage"),
})

const refusedRequests = createRoute({
  getParentRoute,
  path: "/refused-requests",
  component: page(() => import("../refused/refused-requests-page.tsx"), "RefusedRequestsPage"),
})

const refusedRequest = createRoute({
  getParentRoute,
  path: "/refused-requests/$requestId",
  component: page(() => import("../refused/refused-requests-page.tsx"), "RefusedRequestPage"),
})

const outbox = createRoute({
  getParentRoute,
  path: "/outbox",
  component: page(() => import("../message/outbox-page.tsx"), "OutboxPage"),
})

const providers = createRoute({
  getParentRoute,
  path: "/providers",
  component: page(() => import("../provider/providers-page.tsx"), "ProvidersPage"),
})

const texts = createRoute({
  getParentRoute,
  path: "/texts",
  component: page(() => import("../text/texts-page.tsx"), "TextsPage"),
})

const organizationTexts = createRoute({
  getParentRoute,
  path: "/organizations/$organizationId/texts",
  component: page(() => import("../text/texts-page.tsx"), "OrganizationTextsPage"),
})

const signingKeys = createRoute({
  getParentRoute,
  path: "/signing-keys",
  component: page(() => import("../instance/signing-keys-page.tsx"), "SigningKeysPage"),
})

const settings = createRoute({
  getParentRoute,
  path: "/settings",
  component: page(() => import("../instance/settings-page.tsx"), "SettingsPage"),
})

const routeTree = root.addChildren([
  home,
  projects,
  project,
  newApplication,
  grantedProject,
  applications,
  anyNewApplication,
  application,
  users,
  newUser,
  user,
  groups,
  group,
  organizations,
  organization,
  organizationPolicies,
  administrators,
  refusedRequests,
  refusedRequest,
  outbox,
  providers,
  texts,
  organizationTexts,
  signingKeys,
  settings,
])

export const router = createRouter({
  routeTree,
  basepath: "/ui/console",
  // Nothing is blank while a page, or the sign-in, is on its way; nor is anything held back by it.
  defaultPendingComponent: Waiting,
  defaultPendingMinMs: 0,
  // A page is fetched while the pointer is on its way to it.
  defaultPreload: "intent",
  scrollRestoration: true,
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined)
    const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString()
    return text && `?${text}`
  },
})

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}
