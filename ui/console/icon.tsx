const paths = {
  projects: "M3.5 6.5h5l2 2.5h10v10h-17z",
  applications: "M4 4h6.5v6.5H4zm9.5 0H20v6.5h-6.5zM4 13.5h6.5V20H4zm9.5 0H20V20h-6.5z",
  users: "M12 11.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c.7-4 3.8-6 7.5-6s6.8 2 7.5 6",
  "refused-requests": "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7.5v5.5m0 3v.2",
  "signing-keys": "M8.5 15.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM13 11h8v4m-3.5-4v3",
  settings:
    "M4 7h8m6 0h2M4 17h2m6 0h8M12 7a3 3 0 1 0 6 0 3 3 0 0 0-6 0zM6 17a3 3 0 1 0 6 0 3 3 0 0 0-6 0z",
  menu: "M4 7h16M4 12h16M4 17h16",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zm4.8-1.7L20 20",
} as const

export type IconName = keyof typeof paths

/** A small line drawing beside a word; never the only name of anything. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg width="18" height="18" viewBox="0 0 24 24" aria-hidden="true">
      <path
        d={paths[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  )
}
