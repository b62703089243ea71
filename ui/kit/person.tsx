type UserSummaryProps = {
  readonly name: string
  readonly loginName: string
  /** URL of the avatar on this server; empty or omitted if there is none. */
  readonly picture?: string | undefined
}

/** A user: avatar or initials, name and login name. */
export function UserSummary({ name, loginName, picture }: UserSummaryProps) {
  return (
    <span className="person">
      <Avatar name={name} picture={picture} />
      <span className="person-text">
        <bdi className="person-name" title={name}>
          {name}
        </bdi>
        {loginName !== name && (
          <bdi className="person-login" title={loginName}>
            {loginName}
          </bdi>
        )}
      </span>
    </span>
  )
}

type AvatarProps = Pick<UserSummaryProps, "name" | "picture">

/** An avatar next to the name; initials if there is none. */
export function Avatar({ name, picture }: AvatarProps) {
  if (picture) return <img className="avatar" src={picture} alt="" width={36} height={36} />
  return (
    <span className="avatar" aria-hidden="true">
      {initialsOf(name)}
    </span>
  )
}

/** The initials of a name. */
export function initialsOf(name: string): string {
  const words = name.split(/[\s._@-]+/u).filter(Boolean)
  const chosen = words.length > 1 ? [words[0], words.at(-1)] : [words[0]]
  return chosen
    .map((word) => [...(word ?? "")][0] ?? "")
    .join("")
    .toUpperCase()
}
