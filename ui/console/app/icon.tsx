const paths = {
  projects: "M3.5 6.5h5l2 2.5h10v10h-17z",
  applications: "M4 4h6.5v6.5H4zm9.5 0H20v6.5h-6.5zM4 13.5h6.5V20H4zm9.5 0H20V20h-6.5z",
  users: "M12 11.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c.7-4 3.8-6 7.5-6s6.8 2 7.5 6",
  groups:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c1-7 12-7 13 0M16 5q4 3 0 6M18 15q3 1 3.5 5",
  organization: "M4 20.5v-17h10v17M14 9.5h6v11M2.5 20.5h19M7.5 7.5h3m-3 4h3m-3 4h3",
  organizations:
    "M9.5 3.5h5v5h-5zM12 8.5v7M5.5 15.5V12h13v3.5M3 15.5h5v5H3zm6.5 0h5v5h-5zm6.5 0h5v5h-5z",
  administrators: "M12 3l7.5 3v5.5c0 4.5-3 7.8-7.5 9.5-4.5-1.7-7.5-5-7.5-9.5V6zM9 12l2.2 2.2 4-4.2",
  "refused-requests": "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7.5v5.5m0 3v.2",
  "identity-providers": "M10 4H4.5v16H10M14 8l4 4-4 4m4-4H9",
  outbox: "M3.5 5.5h17v13h-17zm0 1 8.5 7 8.5-7",
  providers: "M3.5 11.5 20.5 4l-5 16-3.5-7zM12 13l8.5-9",
  texts: "M4.5 6.5V4.5h15v2M12 4.5v15m-3 0h6",
  "signing-keys": "M8.5 15.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM13 11h8v4m-3.5-4v3",
  events: "M3 12h4l3-7 4 14 3-7h4",
  nodes: "M4 4.5h16v6H4zm0 9h16v6H4zM7.5 7.5h.2m-.2 9h.2M11 7.5h5.5M11 16.5h5.5",
  transfer: "M8 20V4M4 8l4-4 4 4M16 4v16M12 16l4 4 4-4",
  scripts: "M8.5 7 3.5 12l5 5M15.5 7l5 5-5 5",
  targets:
    "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM12 1.5V4m0 16v2.5",
  settings:
    "M4 7h8m6 0h2M4 17h2m6 0h8M12 7a3 3 0 1 0 6 0 3 3 0 0 0-6 0zM6 17a3 3 0 1 0 6 0 3 3 0 0 0-6 0z",
  menu: "M4 7h16M4 12h16M4 17h16",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zm4.8-1.7L20 20",
} as const

export type IconName = keyof typeof paths

/** A small decorative icon next to a text; never the only label. */
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
