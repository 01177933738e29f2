/**
 * The arrows of docs/architecture.md, as lint errors.
 * Rooms of packages/core/src from the bottom up: errors, time, model, definition, decorators, compiler, store, client, testing.
 */
const core = 'packages/core/src';
const room = (name) => `^${core}/${name}/`;
const rule = (name, from, to, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from, pathNot: '\\.test\\.ts$' },
  to: { path: to },
});

/** Rooms of packages/devdb/src from the bottom up; each may import those before it. */
const devdbRooms = [
  ...['values', 'expression', 'query', 'sort', 'projection', 'aggregate', 'update'],
  ...['storage', 'planner', 'state', 'commands', 'server'],
];
const devdbArrows = devdbRooms.slice(0, -1).map((name, at) => {
  const above = devdbRooms.slice(at + 1).join('|');
  return rule(
    `devdb-${name}-below-${devdbRooms[at + 1]}`,
    `^packages/devdb/src/${name}/`,
    `^packages/devdb/src/(${above})/`,
    'arrows run one way',
  );
});

module.exports = {
  forbidden: [
    ...devdbArrows,
    {
      name: 'no-cycles',
      comment: 'Two files that import each other cannot be read apart.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    rule(
      'core-imports-no-sister',
      '^packages/core/',
      '^packages/(runner|cli|devdb)/',
      'core is the bottom',
    ),
    rule(
      'runner-imports-core-only',
      '^packages/runner/',
      '^packages/(cli|devdb)/',
      'runner sits on core',
    ),
    rule(
      'devdb-stands-alone',
      '^packages/devdb/',
      '^packages/(core|runner|cli)/',
      'devdb could live on its own',
    ),
    rule(
      'time-is-pure',
      room('time'),
      `^${core}/(?!time/|errors)`,
      'time knows numbers and errors only',
    ),
    rule(
      'model-is-plain',
      room('model'),
      `^${core}/(?!model/|time/|errors)`,
      'model is plain data',
    ),
    rule(
      'definition-below-decorators',
      room('definition'),
      `^${core}/(decorators|compiler|store|client|testing)/`,
      'arrows run one way',
    ),
    rule(
      'decorators-below-compiler',
      room('decorators'),
      `^${core}/(compiler|store|client|testing)/`,
      'arrows run one way',
    ),
    rule(
      'compiler-is-pure',
      room('compiler'),
      `^${core}/(store|client|testing)/`,
      'the compiler knows no database',
    ),
    rule(
      'store-below-client',
      room('store'),
      `^${core}/(decorators|compiler|client|testing)/`,
      'arrows run one way',
    ),
    rule(
      'testing-knows-the-store',
      room('testing'),
      `^${core}/(decorators|definition|compiler|client)/`,
      'the test kit knows the store and the model',
    ),
    rule(
      'nothing-knows-the-testing-room',
      `^${core}/(?!testing)`,
      `^${core}/testing`,
      'the test kit is no part of what runs',
    ),
    {
      name: 'only-the-store-knows-mongodb',
      comment:
        'No Mongo type crosses the seam, but the two that ctx.commit hands to the user: docs/decisions/driver-types-in-commit.md.',
      severity: 'error',
      from: {
        path: '^packages/(core|runner|cli)/src',
        pathNot: [room('store'), '\\.test\\.ts$', `^${core}/definition/transaction-work\\.ts$`],
      },
      to: { path: '(^|/)node_modules/(mongodb|bson)/' },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', 'dist'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'default', 'types'],
    },
  },
};
