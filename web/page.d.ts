// Shapes that the page makes for itself. What the API sends is in types.d.ts, which is generated.

/** One picture of the run: what the chart draws. */
type Layer = { label: string; colour: string; line: Line };
type Flag = { x: number; label: string; kind: string };
type Scene = {
  axis: Axis; from: number; to: number; layers: Layer[]; floor: number[][];
  stack: { stack: Stack; colours: string[]; labels: string[] } | null;
  spans: { from: number; to: number; phase: string }[]; flags: Flag[];
  forecast: { from: number; to: number; bytes: number; low: number; value: number; high: number; plateau: number | null; end: string } | null;
  limit: { bytes: number; label: string } | null; gap: number; say: (x: number) => string; show: (value: number) => string;
};
/** Where the data of a page comes from: the file itself, or the server. */
type Source = {
  live: boolean;
  report: () => Promise<RunReport>;
  lines: (names: LineName[], from: number, to: number, columns: number) => Promise<Line[]>;
  stack: (from: number, to: number, columns: number) => Promise<Stack | null>;
  names: () => Promise<LineName[]>;
};
