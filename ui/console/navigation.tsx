import { useState } from "react"
import { Button } from "../kit/button.tsx"
import { Chips } from "../kit/choice.tsx"
import { Mark } from "../kit/mark.tsx"
import { Menu } from "../kit/menu.tsx"
import { Person } from "../kit/person.tsx"
import { chooseTheme, chosenTheme, type Theme, themes } from "../kit/theme.ts"
import { type Organization, useHouse } from "./house.ts"
import { Icon } from "./icon.tsx"
import { Link } from "./link.tsx"
import { type Route, useRoute } from "./route.ts"

const places = [
  "projects",
  "applications",
  "users",
  "groups",
  "organization",
  "refused-requests",
] as const

/** Places for those who may see what holds for the whole instance. */
const instancePlaces = ["organizations", "administrators", "signing-keys", "settings"] as const

type Place = (typeof places)[number] | (typeof instancePlaces)[number]

type NavigationProps = { readonly onFollow?: () => void }

/** Organisation on top, the places below it, oneself at the end. */
export function Navigation({ onFollow }: NavigationProps) {
  const { t, seesInstance, organization } = useHouse()
  const current = placeOf(useRoute(), organization)
  const toPlace = (place: Place) => (
    <Link
      key={place}
      to={routeTo(place, organization)}
      className="nav-link"
      current={place === current}
      {...(onFollow && { onFollow })}
    >
      <Icon name={place} />
      {t(`nav.${place}`)}
    </Link>
  )
  return (
    <div className="nav">
      <div className="brand">
        <Mark />
        Latchkey
      </div>
      <OrganizationSwitch />
      <nav className="nav-links" aria-label={t("nav.label")}>
        {places.map(toPlace)}
        {seesInstance && <p className="nav-group">{t("nav.instance")}</p>}
        {seesInstance && instancePlaces.map(toPlace)}
      </nav>
      <Account />
    </div>
  )
}

const routeTo = (page: Place, { id: organizationId }: Organization): Route =>
  page === "organization" ? { page, organizationId } : { page }

function placeOf(route: Route, chosen: Organization): Place | undefined {
  switch (route.page) {
    case "organization":
      return route.organizationId === chosen.id ? "organization" : "organizations"
    case "project":
    case "granted-project":
    case "new-application":
      return "projects"
    case "application":
      return "applications"
    case "user":
    case "new-user":
      return "users"
    case "missing":
      return undefined
    default:
      return route.page
  }
}

function OrganizationSwitch() {
  const { t, organizations, organization, choose } = useHouse()
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
  const { t, signedIn } = useHouse()
  const [theme, setTheme] = useState<Theme>(chosenTheme)
  const { name, loginName } = signedIn.person
  return (
    <Menu name={t("nav.account")} label={<Person name={name} loginName={loginName} />}>
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
      <Button onClick={signedIn.signOut}>{t("nav.sign_out")}</Button>
    </Menu>
  )
}
