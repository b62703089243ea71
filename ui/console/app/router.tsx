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

/** The files of pages, by their names, which their texts also have. */
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

type ComponentOf<Name extends keyof Files> = keyof Awaited<ReturnType<Files[Name]>> & string

type PascalCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${Capitalize<First>}${PascalCase<Rest>}`
  : Capitalize<Name>

/** Pages whose component is called as their file: ProjectPage in project-page.tsx. */
type DefaultComponentFile = {
  [Name in keyof Files]: PascalCase<Name> extends ComponentOf<Name> ? Name : never
}[keyof Files]

const pascalCase = (name: string) =>
  name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())

/** A page is loaded with its first visit, together with its texts. */
function page<Path extends string, Name extends keyof Files>(
  path: Path,
  ...[name, component]: readonly [name: DefaultComponentFile] | readonly [Name, ComponentOf<Name>]
) {
  const load = async (): Promise<Record<string, ComponentType>> => {
    const [module] = await Promise.all([files[name](), loadPageTexts(name)])
    return module
  }
  const lazy = lazyRouteComponent(load, component ?? pascalCase(name))
  return createRoute({ getParentRoute, path, component: lazy })
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
  page("/projects/$projectId", "project-page"),
  page("/projects/$projectId/new-application", "new-application-page"),
  page("/granted-projects/$projectId", "granted-project-page"),
  page("/applications", "applications-page"),
  page("/applications/new", "new-application-page", "AnyNewApplicationPage"),
  page("/applications/$applicationId", "application-page"),
  page("/users", "users-page"),
  page("/users/new", "new-user-page"),
  page("/users/sign-ups", "sign-ups-page"),
  page("/users/$userId", "user-page"),
  page("/users/$userId/why", "access-reason-page"),
  page("/groups", "groups-page"),
  page("/groups/$groupId", "group-page"),
  page("/organizations", "organizations-page"),
  page("/organizations/$organizationId", "organization-page"),
  page("/organizations/$organizationId/policies", "organization-policies-page"),
  page("/administrators", "administrators-page"),
  page("/refused-requests", "refused-requests-page"),
  page("/refused-requests/$requestId", "refused-requests-page", "RefusedRequestPage"),
  page("/outbox", "outbox-page"),
  page("/providers", "providers-page"),
  page("/identity-providers", "identity-providers-page"),
  page(
    "/organizations/$organizationId/identity-providers",
    "identity-providers-page",
    "OrganizationIdentityProvidersPage",
  ),
  page("/texts", "texts-page"),
  page("/organizations/$organizationId/texts", "texts-page", "OrganizationTextsPage"),
  page("/signing-keys", "signing-keys-page"),
  page("/scripts", "scripts-page"),
  page("/scripts/$scriptId", "script-page"),
  page("/events", "events-page"),
  page("/nodes", "nodes-page"),
  page("/transfer", "transfer-page"),
  page("/targets", "targets-page"),
  page("/targets/$targetId", "target-page"),
  page("/settings", "settings-page"),
  page("/account", "profile-page"),
  page("/account/security", "security-page"),
  page("/account/sessions", "sessions-page"),
  page("/account/data", "data-page"),
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
