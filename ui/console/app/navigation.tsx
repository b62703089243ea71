import { useLocation } from "@tanstack/react-router"
import { type ReactNode, Suspense, useEffect, useState } from "react"
import {
  Button,
  Chips,
  Mark,
  Menu,
  storedTheme,
  storeTheme,
  type Theme,
  themes,
  UserSummary,
} from "../../kit/index.ts"
import { Link, LinkButton, type LinkOptions } from "../shell/link.tsx"
import {
  useCanManage,
  useCanReadInstance,
  useOrganization,
  useOrganizations,
  useSelectOrganization,
} from "../shell/organization.tsx"
import { PagePart } from "../shell/part.tsx"
import { usePermissions } from "../shell/permissions.ts"
import { signOut, useSession } from "../shell/session.ts"
import { type TextKey, t } from "../shell/text.ts"
import { hasPermission, instancePages, requiredPermissions } from "./destinations.ts"
import { Icon } from "./icon.tsx"

const resourcePages = ["projects", "applications", "users", "groups"] as const

/** Logs of the organization and its scripts, listed after the organization page. */
const logPages = ["scripts", "outbox", "refused-requests"] as const

type PageName =
  | (typeof resourcePages)[number]
  | (typeof instancePages)[number]
  | (typeof logPages)[number]

type NavigationProps = { readonly onFollow?: (() => void) | undefined }

/** Whether the current page is an account page. */
export const useIsAccount = (): boolean => /^\/account(\/|$)/.test(useLocation().pathname)

/** The sidebar of the console or of the account pages. */
export function Navigation(props: NavigationProps) {
  return useIsAccount() ? <AccountNavigation {...props} /> : <ConsoleNavigation {...props} />
}

const accountPages = [
  { to: "/account", icon: "users", name: "nav.profile" },
  { to: "/account/security", icon: "signing-keys", name: "nav.security" },
  { to: "/account/sessions", icon: "applications", name: "nav.sessions" },
  { to: "/account/data", icon: "texts", name: "nav.data" },
] as const

type SidebarProps = { readonly head: ReactNode; readonly children: ReactNode }

function Sidebar({ head, children }: SidebarProps) {
  return (
    <div className="nav">
      <div className="brand">
        <Mark />
        Latchkey
      </div>
      {head}
      <nav className="nav-links" aria-label={t("nav.label")}>
        {children}
      </nav>
      <AccountLink />
    </div>
  )
}

type NavLinkProps = NavigationProps & {
  readonly link: LinkOptions
  readonly icon: Parameters<typeof Icon>[0]["name"]
  readonly name: TextKey
}

function NavLink({ link, icon, name, onFollow }: NavLinkProps) {
  return (
    <Link {...link} className="nav-link" onClick={onFollow}>
      <Icon name={icon} />
      {t(name)}
    </Link>
  )
}

/** Links of the account pages, and to the console for users who can manage something. */
function AccountNavigation({ onFollow }: NavigationProps) {
  const activeOptions = { exact: true, includeSearch: false }
  return (
    <Sidebar head={<p className="org-name">{t("nav.account")}</p>}>
      {accountPages.map(({ to, icon, name }) => (
        <NavLink
          key={to}
          link={{ to, activeOptions }}
          icon={icon}
          name={name}
          onFollow={onFollow}
        />
      ))}
      <ConsoleLink onFollow={onFollow} />
    </Sidebar>
  )
}

function ConsoleLink({ onFollow }: NavigationProps) {
  if (!useCanManage()) return null
  return (
    <NavLink
      link={{ to: "/projects" }}
      icon="administrators"
      name="nav.console"
      onFollow={onFollow}
    />
  )
}

/** The organization switch at the top, pages below, the account at the bottom. */
function ConsoleNavigation({ onFollow }: NavigationProps) {
  const to = (page: PageName) => <PageLink key={page} page={page} onFollow={onFollow} />
  const organization = (
    <Suspense fallback={<p className="org-name">…</p>}>
      <PagePart rows={1}>
        <OrganizationSwitch />
      </PagePart>
    </Suspense>
  )
  return (
    <Sidebar head={organization}>
      <Suspense fallback={<PendingLinks />}>
        <OrganizationLinks onFollow={onFollow} />
        <ScrollToActiveLink />
      </Suspense>
      <Suspense>
        <IfInstance>
          <p className="nav-group">{t("nav.instance")}</p>
          {instancePages.map(to)}
        </IfInstance>
        <ScrollToActiveLink />
      </Suspense>
    </Sidebar>
  )
}

type PageLinkProps = NavigationProps & { readonly page: PageName }

function PageLink({ page, onFollow }: PageLinkProps) {
  // A single organization has its own page.
  const activeOptions = { exact: page === "organizations", includeSearch: false }
  const link = { to: `/${page}`, activeOptions } as const
  return <NavLink icon={page} name={`nav.${page}`} link={link} onFollow={onFollow} />
}

/** Placeholders while permissions load, not links yet, because some pages may not be accessible. */
const PendingLinks = () =>
  [...resourcePages, ...logPages].map((page) => (
    <span key={page} className="nav-link">
      <Icon name={page} />
      {t(`nav.${page}`)}
    </span>
  ))

/** Links to the pages of the organization that the caller can access. */
function OrganizationLinks({ onFollow }: NavigationProps) {
  const { id } = useOrganization()
  const permissions = usePermissions(id)
  const may = (page: keyof typeof requiredPermissions) =>
    hasPermission(permissions, requiredPermissions[page])
  const to = (page: PageName) => <PageLink key={page} page={page} onFollow={onFollow} />
  return (
    <>
      {resourcePages.filter(may).map(to)}
      {may("organization") && <OrganizationLink onFollow={onFollow} />}
      {logPages.filter(may).map(to)}
    </>
  )
}

function OrganizationLink({ onFollow }: NavigationProps) {
  const { id: organizationId } = useOrganization()
  const link = { to: "/organizations/$organizationId", params: { organizationId } } as const
  return <NavLink icon="organization" name="nav.organization" link={link} onFollow={onFollow} />
}

/** Scrolls the sidebar to the active link in low windows. Must be mounted after the links. */
function ScrollToActiveLink() {
  const { pathname } = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the active link depends on the path.
  useEffect(() => {
    const active = document.querySelector(".nav-links [aria-current=page]")
    active?.scrollIntoView({ block: "nearest" })
  }, [pathname])
  return null
}

function IfInstance({ children }: { readonly children: ReactNode }) {
  return useCanReadInstance() && children
}

function OrganizationSwitch() {
  const organizations = useOrganizations()
  const organization = useOrganization()
  const choose = useSelectOrganization()
  if (organizations.length === 1) return <p className="org-name">{organization.name}</p>
  return (
    <div className="org-switch">
      <select
        className="input"
        aria-label={t("nav.organization")}
        value={organization.id}
        onChange={(event) => choose(event.target.value)}
      >
        {organizations.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </div>
  )
}

function AccountLink() {
  const session = useSession()
  const isAccount = useIsAccount()
  const [theme, setTheme] = useState<Theme>(storedTheme)
  if (session.status !== "signed-in") return <div className="nav-account" />
  const { name, loginName, picture } = session.person
  return (
    <Menu
      name={t("nav.account")}
      label={<UserSummary name={name} loginName={loginName} picture={picture} />}
    >
      <Chips
        legend={t("nav.theme")}
        name="theme"
        options={themes.map((value) => ({ value, label: t(`nav.theme.${value}`) }))}
        value={theme}
        onChange={(value) => {
          storeTheme(value)
          setTheme(value)
        }}
      />
      {!isAccount && <LinkButton to="/account">{t("nav.manage_account")}</LinkButton>}
      <Button onClick={() => void signOut()}>{t("nav.sign_out")}</Button>
    </Menu>
  )
}
