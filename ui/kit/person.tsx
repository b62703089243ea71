type PersonProps = {
  readonly name: string
  readonly loginName: string
  /** Those of the name, where nothing else is said. */
  readonly initials?: string | undefined
}

/** Who somebody is: initials, name, and the name they sign in with. */
export function Person({ name, loginName, initials = initialsOf(name) }: PersonProps) {
  return (
    <span className="person">
      <span className="avatar" aria-hidden="true">
        {initials}
      </span>
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

export function initialsOf(name: string): string {
  const words = name.split(/[\s._@-]+/u).filter(Boolean)
  const chosen = words.length > 1 ? [words[0], words.at(-1)] : [words[0]]
  return chosen
    .map((word) => [...(word ?? "")][0] ?? "")
    .join("")
    .toUpperCase()
}
