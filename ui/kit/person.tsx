type PersonProps = {
  readonly name: string
  readonly loginName: string
  /** The address of a picture of them, on our own server; empty or left out for none. */
  readonly picture?: string | undefined
}

/** Who somebody is: picture or initials, name, and the name they sign in with. */
export function Person({ name, loginName, picture }: PersonProps) {
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

type AvatarProps = Pick<PersonProps, "name" | "picture">

/** A picture of somebody whose name stands beside it; their initials where there is none. */
export function Avatar({ name, picture }: AvatarProps) {
  if (picture) return <img className="avatar" src={picture} alt="" width={36} height={36} />
  return (
    <span className="avatar" aria-hidden="true">
      {initialsOf(name)}
    </span>
  )
}

/** Letters that stand for somebody who has no picture. */
export function initialsOf(name: string): string {
  const words = name.split(/[\s._@-]+/u).filter(Boolean)
  const chosen = words.length > 1 ? [words[0], words.at(-1)] : [words[0]]
  return chosen
    .map((word) => [...(word ?? "")][0] ?? "")
    .join("")
    .toUpperCase()
}
