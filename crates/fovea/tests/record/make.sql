create table notes (id integer primary key, title text, body text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 12000)
  insert into notes select i, 'title ' || (i * 7919 % 12007), printf('%.*c', 60 + i % 90, 'x') from n;
create index by_title on notes (title);
