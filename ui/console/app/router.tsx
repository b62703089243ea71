import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from "@tanstack/react-router"
import type { ComponentType } from "react"
import { ProjectsPage } from "../project/projects-page.tsx"
import { Waiting } from "../shell/frame.tsx"
import { loadPageTexts } from "../shell/texts/index.ts"
import { Shell } from "./app.tsx"
import { Failed, FailedPage } from "./boundary.tsx"
import { Missing } from "./not-found.tsx"

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

/** The files of pages, by the name that what they say has, too. */
const files = {
  "project-page": () => import("../project/project-page.tsx"),
  "new-application-page": () => import("../application/new-application-page.tsx"),
  "granted-project-page": () => import("../project/granted-project-page.tsx"),
  "applications-page": () => import("../application/applications-page.tsx"),
  "application-page": () => import("../application/application-page.tsx"),
  "users-page": () => import("../user/users-page.tsx"),
  "sign-ups-page": () => import("../user/sign-ups-page.tsx"),
  "new-user-page": () => import("../user/new-user-page.tsx"),
  "user-page": () => import("../user/user-page.tsx"),
  "access-reason-page": () => import("../user/access-reason-page.tsx"),
  "groups-page": () => import("../group/groups-page.tsx"),
  "group-page": () => import("../group/group-page.tsx"),
  "organizations-page": () => import("../organization/organizations-page.tsx"),
  "organization-page": () => import("../organization/organization-page.tsx"),
  "organization-policies-page": () => import("../policy/organization-policies-page.tsx"),
  "administrators-page": () => import("../administrator/administrators-page.tsx"),
  "refused-requests-page": () => import("../application/refused-requests-page.tsx"),
  "outbox-page": () => import("../message/outbox-page.tsx"),
  "providers-page": () => import("../provider/providers-page.tsx"),
  "identity-providers-page": () => import("../idp/identity-providers-page.tsx"),
  "texts-page": () => import("../text/texts-page.tsx"),
  "signing-keys-page": () => import("../instance/signing-keys-page.tsx"),
  "scripts-page": () => import("../script/scripts-page.tsx"),
  "script-page": () => import("../script/script-page.tsx"),
  "events-page": () => import("../event/events-page.tsx"),
  "nodes-page": () => import("../instance/nodes-page.tsx"),
  "transfer-page": () => import("../transfer/transfer-page.tsx"),
  "targets-page": () => import("../target/targets-page.tsx"),
  "target-page": () => import("../target/target-page.tsx"),
  "settings-page": () => import("../instance/settings-page.tsx"),
  "profile-page": () => import("../account/profile-page.tsx"),
  "security-page": () => import("../account/security-page.tsx"),
  "sessions-page": () => import("../account/sessions-page.tsx"),
  "data-page": () => import("../account/data-page.tsx"),
} as const

type Files = typeof files

/** A page is loaded with its first visit, and with it what it says. */
function page<Path extends string, Name extends keyof Files>(
  path: Path,
  ...[name, exported]: readonly [Name, keyof Awaited<ReturnType<Files[Name]>> & string]
) {
  const load = async (): Promise<Record<string, ComponentType>> => {
    const [module] = await Promise.all([files[name](), loadPageTexts(name)])
    return module
  }
  return createRoute({ getParentRoute, path, component: lazyRouteComponent(load, exported) })
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
  page("/projects/$projectId", "project-page", "ProjectPage"),
  page("/projects/$projectId/new-application", "new-application-page", "NewApplicationPage"),
  page("/granted-projects/$projectId", "granted-project-page", "GrantedProjectPage"),
  page("/applications", "applications-page", "ApplicationsPage"),
  page("/applications/new", "new-application-page", "AnyNewApplicationPage"),
  page("/applications/$applicationId", "application-page", "ApplicationPage"),
  page("/users", "users-page", "UsersPage"),
  page("/users/new", "new-user-page", "NewUserPage"),
  page("/users/sign-ups", "sign-ups-page", "SignUpsPage"),
  page("/users/$userId", "user-page", "UserPage"),
  page("/users/$userId/why", "access-reason-page", "WhyPage"),
  page("/groups", "groups-page", "GroupsPage"),
  page("/groups/$groupId", "group-page", "GroupPage"),
  page("/organizations", "organizations-page", "OrganizationsPage"),
  page("/organizations/$organizationId", "organization-page", "OrganizationPage"),
  page(
    "/organizations/$organizationId/policies",
    "organization-policies-page",
    "OrganizationPoliciesPage",
  ),
  page("/administrators", "administrators-page", "AdministratorsPage"),
  page("/refused-requests", "refused-requests-page", "RefusedRequestsPage"),
  page("/refused-requests/$requestId", "refused-requests-page", "RefusedRequestPage"),
  page("/outbox", "outbox-page", "OutboxPage"),
  page("/providers", "providers-page", "ProvidersPage"),
  page("/identity-providers", "identity-providers-page", "IdentityProvidersPage"),
  page(
    "/organizations/$organizationId/identity-providers",
    "identity-providers-page",
    "OrganizationIdentityProvidersPage",
  ),
  page("/texts", "texts-page", "TextsPage"),
  page("/organizations/$organizationId/texts", "texts-page", "OrganizationTextsPage"),
  page("/signing-keys", "signing-keys-page", "SigningKeysPage"),
  page("/scripts", "scripts-page", "ScriptsPage"),
  page("/scripts/$scriptId", "script-page", "ScriptPage"),
  page("/events", "events-page", "EventsPage"),
  page("/nodes", "nodes-page", "NodesPage"),
  page("/transfer", "transfer-page", "TransferPage"),
  page("/targets", "targets-page", "TargetsPage"),
  page("/targets/$targetId", "target-page", "TargetPage"),
  page("/settings", "settings-page", "SettingsPage"),
  page("/account", "profile-page", "ProfilePage"),
  page("/account/security", "security-page", "SecurityPage"),
  page("/account/sessions", "sessions-page", "SessionsPage"),
  page("/account/data", "data-page", "DataPage"),
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
