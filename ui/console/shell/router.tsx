import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from "@tanstack/react-router"
import { ProjectsPage } from "../project/projects-page.tsx"
import { Failed, FailedPage } from "./boundary.tsx"
import { Waiting } from "./frame.tsx"
import { Missing } from "./missing.tsx"
import { Shell } from "./shell.tsx"
import { loadPageTexts, type PageName } from "./texts/index.ts"

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

/** A page is loaded with its first visit, and with it what it says. */
function page<Path extends string, Module extends Record<string, unknown>>(
  path: Path,
  ...[texts, load, name]: readonly [PageName, () => Promise<Module>, keyof Module & string]
) {
  const loadAll = async () => {
    const [module] = await Promise.all([load(), loadPageTexts(texts)])
    return module
  }
  return createRoute({ getParentRoute, path, component: lazyRouteComponent(loadAll, name) })
}

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
  // The first page, and what all lists are made of, come with the shell: nothing is held back.
  component: ProjectsPage,
})

const routeTree = root.addChildren([
  home,
  projects,
  page(
    "/projects/$projectId",
    "project-page",
    () => import("../project/project-page.tsx"),
    "ProjectPage",
  ),
  page(
    "/projects/$projectId/new-application",
    "new-application-page",
    () => import("../application/new-application-page.tsx"),
    "NewApplicationPage",
  ),
  page(
    "/granted-projects/$projectId",
    "granted-project-page",
    () => import("../project/granted-project-page.tsx"),
    "GrantedProjectPage",
  ),
  page(
    "/applications",
    "applications-page",
    () => import("../application/applications-page.tsx"),
    "ApplicationsPage",
  ),
  page(
    "/applications/new",
    "new-application-page",
    () => import("../application/new-application-page.tsx"),
    "AnyNewApplicationPage",
  ),
  page(
    "/applications/$applicationId",
    "application-page",
    () => import("../application/application-page.tsx"),
    "ApplicationPage",
  ),
  page("/users", "users-page", () => import("../user/users-page.tsx"), "UsersPage"),
  page("/users/new", "new-user-page", () => import("../user/new-user-page.tsx"), "NewUserPage"),
  page("/users/$userId", "user-page", () => import("../user/user-page.tsx"), "UserPage"),
  page("/users/$userId/why", "why-page", () => import("../user/why-page.tsx"), "WhyPage"),
  page("/groups", "groups-page", () => import("../group/groups-page.tsx"), "GroupsPage"),
  page("/groups/$groupId", "group-page", () => import("../group/group-page.tsx"), "GroupPage"),
  page(
    "/organizations",
    "organizations-page",
    () => import("../organization/organizations-page.tsx"),
    "OrganizationsPage",
  ),
  page(
    "/organizations/$organizationId",
    "organization-page",
    () => import("../organization/organization-page.tsx"),
    "OrganizationPage",
  ),
  page(
    "/organizations/$organizationId/policies",
    "organization-policies-page",
    () => import("../policy/organization-policies-page.tsx"),
    "OrganizationPoliciesPage",
  ),
  page(
    "/administrators",
    "administrators-page",
    () => import("../instance/administrators-page.tsx"),
    "AdministratorsPage",
  ),
  page(
    "/refused-requests",
    "refused-requests-page",
    () => import("../refused/refused-requests-page.tsx"),
    "RefusedRequestsPage",
  ),
  page(
    "/refused-requests/$requestId",
    "refused-requests-page",
    () => import("../refused/refused-requests-page.tsx"),
    "RefusedRequestPage",
  ),
  page("/outbox", "outbox-page", () => import("../message/outbox-page.tsx"), "OutboxPage"),
  page(
    "/providers",
    "providers-page",
    () => import("../provider/providers-page.tsx"),
    "ProvidersPage",
  ),
  page(
    "/identity-providers",
    "identity-providers-page",
    () => import("../idp/identity-providers-page.tsx"),
    "IdentityProvidersPage",
  ),
  page(
    "/organizations/$organizationId/identity-providers",
    "identity-providers-page",
    () => import("../idp/identity-providers-page.tsx"),
    "OrganizationIdentityProvidersPage",
  ),
  page("/texts", "texts-page", () => import("../text/texts-page.tsx"), "TextsPage"),
  page(
    "/organizations/$organizationId/texts",
    "texts-page",
    () => import("../text/texts-page.tsx"),
    "OrganizationTextsPage",
  ),
  page(
    "/signing-keys",
    "signing-keys-page",
    () => import("../instance/signing-keys-page.tsx"),
    "SigningKeysPage",
  ),
  page("/scripts", "scripts-page", () => import("../script/scripts-page.tsx"), "ScriptsPage"),
  page(
    "/scripts/$scriptId",
    "script-page",
    () => import("../script/script-page.tsx"),
    "ScriptPage",
  ),
  page("/events", "events-page", () => import("../event/events-page.tsx"), "EventsPage"),
  page("/targets", "targets-page", () => import("../target/targets-page.tsx"), "TargetsPage"),
  page(
    "/targets/$targetId",
    "target-page",
    () => import("../target/target-page.tsx"),
    "TargetPage",
  ),
  page("/settings", "settings-page", () => import("../instance/settings-page.tsx"), "SettingsPage"),
  page("/account", "profile-page", () => import("../account/profile-page.tsx"), "ProfilePage"),
  page(
    "/account/security",
    "security-page",
    () => import("../account/security-page.tsx"),
    "SecurityPage",
  ),
  page(
    "/account/sessions",
    "sessions-page",
    () => import("../account/sessions-page.tsx"),
    "SessionsPage",
  ),
  page("/account/data", "data-page", () => import("../account/data-page.tsx"), "DataPage"),
])

const isAccount = (pathname: string) => /^\/account(\/|$)/.test(pathname)

export const router = createRouter({
  routeTree,
  basepath: "/ui",
  // The account stands beside the console: /ui/account is "/account", /ui/console/users "/users".
  rewrite: {
    input: ({ url }) => {
      url.pathname = url.pathname.replace(/^\/console(?=\/|$)/, "") || "/"
      return url
    },
    output: ({ url }) => {
      if (!isAccount(url.pathname)) url.pathname = `/console${url.pathname}`
      return url
    },
  },
  // A page that can't be shown leaves the places beside it.
  defaultErrorComponent: FailedPage,
  // Nothing is blank while a page, or the sign-in, is on its way; nor is anything held back by it.
  defaultPendingComponent: Waiting,
  defaultPendingMinMs: 0,
  // Another thing is another page: no secret, refusal or open form of the one before stays on it.
  defaultRemountDeps: ({ params }) => params,
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
