import { useLocation } from "@tanstack/react-router"
import { type ReactNode, Suspense, useEffect, useState } from "react"
import {
  Button,
  Chips,
  chooseTheme,
  chosenTheme,
  Mark,
  Menu,
  Person,
  type Theme,
  themes,
} from "../../kit/index.ts"
import { Link, LinkButton, type LinkOptions } from "../shell/link.tsx"
import {
  useChoose,
  useManages,
  useOrganization,
  useOrganizations,
  useSeesInstance,
} from "../shell/organization.tsx"
import { Part } from "../shell/part.tsx"
import { usePermissions } from "../shell/permissions.ts"
import { signOut, useSession } from "../shell/session.ts"
import { type TextKey, t } from "../shell/text.ts"
import { holds, instancePages, needs } from "./destinations.ts"
import { Icon } from "./icon.tsx"

const places = ["projects", "applications", "users", "groups"] as const

/** What happened to those of the organisation, after its own place, and what it adds of its own. */
const journals = ["scripts", "outbox", "refused-requests"] as const

type PageName = (typeof places)[number] | (typeof instancePages)[number] | (typeof journals)[number]

type NavigationProps = { readonly onFollow?: (() => void) | undefined }

/** Whether one looks at one's own account, not at what one manages. */
export const useIsAccount = (): boolean => /^\/account(\/|$)/.test(useLocation().pathname)

/** What stands beside every page: of the console, or of one's own account. */
export function Navigation(props: NavigationProps) {
  return useIsAccount() ? <AccountNavigation {...props} /> : <ConsoleNavigation {...props} />
}

const ownPlaces = [
  { to: "/account", icon: "users", name: "nav.profile" },
  { to: "/account/security", icon: "signing-keys", name: "nav.security" },
  { to: "/account/sessions", icon: "applications", name: "nav.sessions" },
  { to: "/account/data", icon: "texts", name: "nav.data" },
] as const

type BesideProps = { readonly head: ReactNode; readonly children: ReactNode }

function Beside({ head, children }: BesideProps) {
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
      <Account />
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

/** Places of one's own account; the console for those who manage something. */
function AccountNavigation({ onFollow }: NavigationProps) {
  const activeOptions = { exact: true, includeSearch: false }
  return (
    <Beside head={<p className="org-name">{t("nav.account")}</p>}>
      {ownPlaces.map(({ to, icon, name }) => (
        <NavLink
          key={to}
          link={{ to, activeOptions }}
          icon={icon}
          name={name}
          onFollow={onFollow}
        />
      ))}
      <ToConsole onFollow={onFollow} />
    </Beside>
  )
}

function ToConsole({ onFollow }: NavigationProps) {
  if (!useManages()) return null
  return (
    <NavLink
      link={{ to: "/projects" }}
      icon="administrators"
      name="nav.console"
      onFollow={onFollow}
    />
  )
}

/** Organisation on top, the places below it, oneself at the end. */
function ConsoleNavigation({ onFollow }: NavigationProps) {
  const to = (place: PageName) => <PageLink key={place} place={place} onFollow={onFollow} />
  const organization = (
    <Suspense fallback={<p className="org-name">…</p>}>
      <Part rows={1}>
        <OrganizationSwitch />
      </Part>
    </Suspense>
  )
  return (
    <Beside head={organization}>
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
    </Beside>
  )
}

type PageLinkProps = NavigationProps & { readonly place: PageName }

function PageLink({ place, onFollow }: PageLinkProps) {
  // One organisation has a place of its own.
  const activeOptions = { exact: place === "organizations", includeSearch: false }
  const link = { to: `/${place}`, activeOptions } as const
  return <NavLink icon={place} name={`nav.${place}`} link={link} onFollow={onFollow} />
}

/** What most of them will be, not yet to be followed: it might lead where one may not look. */
const PendingLinks = () =>
  [...places, ...journals].map((place) => (
    <span key={place} className="nav-link">
      <Icon name={place} />
      {t(`nav.${place}`)}
    </span>
  ))

/** Places of the organisation, as far as one may see what is there. */
function OrganizationLinks({ onFollow }: NavigationProps) {
  const { id } = useOrganization()
  const held = usePermissions(id)
  const may = (place: keyof typeof needs) => holds(held, needs[place])
  const to = (place: PageName) => <PageLink key={place} place={place} onFollow={onFollow} />
  return (
    <>
      {places.filter(may).map(to)}
      {may("organization") && <ToOrganization onFollow={onFollow} />}
      {journals.filter(may).map(to)}
    </>
  )
}

function ToOrganization({ onFollow }: NavigationProps) {
  const { id: organizationId } = useOrganization()
  const link = { to: "/organizations/$organizationId", params: { organizationId } } as const
  return <NavLink icon="organization" name="nav.organization" link={link} onFollow={onFollow} />
}

/** Where a window is low the places scroll: to the one that is shown. Mounts after them. */
function ScrollToActiveLink() {
  const { pathname } = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: which one is active follows from it.
  useEffect(() => {
    const active = document.querySelector(".nav-links [aria-current=page]")
    active?.scrollIntoView({ block: "nearest" })
  }, [pathname])
  return null
}

function IfInstance({ children }: { readonly children: ReactNode }) {
  return useSeesInstance() && children
}

function OrganizationSwitch() {
  const organizations = useOrganizations()
  const organization = useOrganization()
  const choose = useChoose()
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

function Account() {
  const session = useSession()
  const isAccount = useIsAccount()
  const [theme, setTheme] = useState<Theme>(chosenTheme)
  if (session.status !== "signed-in") return <div className="nav-account" />
  const { name, loginName, picture } = session.person
  return (
    <Menu
      name={t("nav.account")}
      label={<Person name={name} loginName={loginName} picture={picture} />}
    >
      <Chips
        legend={t("nav.theme")}
        name="theme"
        options={themes.map((value) => ({ value, label: t(`nav.theme.${value}`) }))}
        value={theme}
        onChange={(value) => {
          chooseTheme(value)
          setTheme(value)
        }}
      />
      {!isAccount && <LinkButton to="/account">{t("nav.manage_account")}</LinkButton>}
      <Button onClick={() => void signOut()}>{t("nav.sign_out")}</Button>
    </Menu>
  )
}
